"""Sends open files in chunks, read in threads."""

from collections.abc import AsyncIterator, Mapping
from email.utils import formatdate
from types import MappingProxyType
from typing import Any, BinaryIO
from urllib.parse import quote

from litestar import Request, Response
from litestar.response import Stream
from litestar.response.base import ASGIResponse

from registry.catalog.skill_backend import SkillFile
from registry.http.request_state import request_state
from registry.http.thread_pools import ORDINARY_POOL, ThreadPool

_CHUNK_BYTES = 64 * 1024

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


async def skill_file_response(
    request: Request[Any, Any, Any],
    file: SkillFile,
    *,
    is_text: bool = False,
    media_type: str | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
) -> Response[Any]:
    """Return a response with a file of a skill: text to be shown as plain text, anything else to be saved.

    `media_type` and `headers` replace those of a file that was recognised as safe to show.

    Raises RATE_LIMITED and SERVICE_UNAVAILABLE if the file is large and too many downloads are in progress.
    """
    request_state(request.scope).at_end(file.content.close)
    media_type = media_type or ("text/plain" if is_text else "application/octet-stream")
    all_headers = {
        "Content-Disposition": _disposition("inline" if is_text else "attachment", file.name),
        "Last-Modified": formatdate(file.modified_at, usegmt=True),
        "ETag": file.etag,
        "X-Content-Type-Options": "nosniff",
        **headers,
    }
    if file.size > _CHUNK_BYTES:
        request.app.state.downloads.begin(request.scope)
        all_headers["Content-Length"] = str(file.size)
        body = sent(file.content, file.size, ORDINARY_POOL)
        return _TypedStream(body, media_type=media_type, headers=all_headers)
    content = await ORDINARY_POOL.run(file.content.read, file.size)
    return Response(content, media_type=media_type, headers=all_headers)


def sent_at_once_or_as_download(request: Request[Any, Any, Any], answer: Response[bytes]) -> Response[Any]:
    """Return a response that is ready to be sent, a large one as a download of the caller and in chunks.

    Its bytes stay in memory until the last of them is sent, so a caller may have only so many. Raises RATE_LIMITED and
    SERVICE_UNAVAILABLE.
    """
    size = len(answer.content)
    if size <= _CHUNK_BYTES:
        return answer
    request.app.state.downloads.begin(request.scope)
    headers = {**answer.headers, "Content-Length": str(size)}
    return _TypedStream(_chunks(answer.content), media_type=answer.media_type, headers=headers)


async def _chunks(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), _CHUNK_BYTES):
        yield content[start : start + _CHUNK_BYTES]


class _TypedStream(Stream):
    """A stream that is sent with its own media type. Litestar prefers that of the route, which says `*/*` for files."""

    def to_asgi_response(self, *arguments: Any, **options: Any) -> ASGIResponse:
        """Return the response to send."""
        return super().to_asgi_response(*arguments, **{**options, "media_type": None})


def _disposition(kind: str, name: str) -> str:
    quoted = quote(name, safe="")
    return f'{kind}; filename="{name}"' if quoted == name else f"{kind}; filename*=utf-8''{quoted}"


async def sent(content: BinaryIO, size: int, pool: ThreadPool) -> AsyncIterator[bytes]:
    """Yield the first `size` bytes of a file, read in threads of `pool`. A file that grows meanwhile has more."""
    while size and (chunk := await pool.run(content.read, min(size, _CHUNK_BYTES))):
        size -= len(chunk)
        yield chunk
