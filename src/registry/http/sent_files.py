"""Sends open files in chunks, read in threads."""

from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Any, BinaryIO
from urllib.parse import quote

from litestar import Response
from litestar.response import Stream

from registry.catalog.skill_backend import SkillFile
from registry.http.thread_pools import ORDINARY_POOL

_CHUNK_BYTES = 64 * 1024


async def skill_file_response(file: SkillFile, *, is_text: bool) -> Response[Any]:
    """Return a response with a file of a skill: text to be shown as plain text, anything else to be saved."""
    media_type = "text/plain" if is_text else "application/octet-stream"
    headers = {
        "Content-Disposition": _disposition("inline" if is_text else "attachment", file.name),
        "Last-Modified": formatdate(file.modified_at, usegmt=True),
        "ETag": file.etag,
        "X-Content-Type-Options": "nosniff",
    }
    if file.size > _CHUNK_BYTES:
        headers["Content-Length"] = str(file.size)
        return Stream(sent(file.content, file.size), media_type=media_type, headers=headers)
    with file.content:
        content = await ORDINARY_POOL.run(file.content.read, file.size)
    return Response(content, media_type=media_type, headers=headers)


def _disposition(kind: str, name: str) -> str:
    quoted = quote(name, safe="")
    return f'{kind}; filename="{name}"' if quoted == name else f"{kind}; filename*=utf-8''{quoted}"


async def sent(content: BinaryIO, size: int) -> AsyncIterator[bytes]:
    """Yield the first `size` bytes of a file, and close it. A file that grows meanwhile has more."""
    with content:
        while size and (chunk := await ORDINARY_POOL.run(content.read, min(size, _CHUNK_BYTES))):
            size -= len(chunk)
            yield chunk
