"""The forms in which a file of a skill is sent: as it is, rendered, or as an image that a page may show."""

import io
import mimetypes
from typing import Annotated, Any, Literal
from urllib.parse import quote, unquote, urlsplit

from litestar import Request, Response
from litestar.params import QueryParameter

from registry.catalog.skill_backend import SkillFile
from registry.domain.api import API
from registry.errors import FieldError, validation_error
from registry.http.request_state import request_state
from registry.http.sent_files import skill_file_response
from registry.http.thread_pools import ORDINARY_POOL
from registry.parsing.frontmatter import read
from registry.parsing.images import image_type
from registry.parsing.markdown import MAX_RENDERED, render_markdown

FileForm = Annotated[
    Literal["raw", "html", "image"],
    QueryParameter(
        name="format",
        description="The file as it is; a Markdown file rendered to safe HTML; or an image with its media type",
    ),
]

_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/javascript", "application/x-sh", None})
_IMAGE_HEAD_BYTES = 64
_EMBEDDED = {
    # It comes from an unknown author: even opened by itself it runs nothing, loads nothing and has no origin.
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Disposition": "inline",
}


async def file_response(
    request: Request[Any, Any, Any], file: SkillFile, form: FileForm, images: "ImageAddresses"
) -> Response[Any]:
    """Return a response with a file in one of the forms. `images` has the addresses of the images it may show.

    Raises VALIDATION_ERROR for a file that does not have this form, and what `skill_file_response` raises.
    """
    if form == "raw":
        return await raw_file_response(request, file)
    request_state(request.scope).at_end(file.content.close)
    if form == "html":
        rendered = await ORDINARY_POOL.run(_rendered, file, images)
        return Response(rendered, media_type="text/html", headers={**_EMBEDDED, "ETag": f"W/{file.etag}"})
    media_type = await ORDINARY_POOL.run(_image_type, file)
    return await skill_file_response(request, file, media_type=media_type, headers=_EMBEDDED)


async def raw_file_response(request: Request[Any, Any, Any], file: SkillFile) -> Response[Any]:
    """Return a response with a file as it is. Raises what `skill_file_response` raises."""
    kind, _ = mimetypes.guess_type(file.name)
    return await skill_file_response(request, file, is_text=kind in _TEXT_TYPES or str(kind).startswith("text/"))


def _rendered(file: SkillFile, images: "ImageAddresses") -> str:
    if not file.name.lower().endswith((".md", ".markdown")):
        raise validation_error(FieldError("format", "html is for Markdown files: this is none"))
    if file.size > 4 * MAX_RENDERED:
        raise validation_error(FieldError("format", f"html is for files of at most {4 * MAX_RENDERED:,} bytes"))
    with io.TextIOWrapper(file.content, encoding="utf-8", errors="replace") as text:
        return render_markdown(read(text.read()).body, images.of)


def _image_type(file: SkillFile) -> str:
    media_type = image_type(file.content.read(_IMAGE_HEAD_BYTES))
    file.content.seek(0)
    if media_type is None:
        raise validation_error(FieldError("format", "image is for PNG, JPEG, GIF, WebP and AVIF files: this is none"))
    return media_type


class ImageAddresses:
    """The addresses of the images of a skill, as a Markdown file at `path` of the skill names them.

    Without a version they are those of the current one.
    """

    def __init__(self, skill_id: str, path: str, version: str | None = None) -> None:
        place = f"/versions/{quote(version, safe='')}" if version else ""
        self._base = f"{API}/skills/{quote(skill_id)}{place}/files/"
        self._folders = path.split("/")[:-1]

    def of(self, target: str) -> str | None:
        """Return the address of an image, None if the target is not within the skill."""
        try:
            parts = urlsplit(target)
        except ValueError:
            return None
        if parts.scheme or parts.netloc or not parts.path or parts.path.startswith("/") or "\\" in parts.path:
            return None
        names = list(self._folders)
        for name in unquote(parts.path).split("/"):
            if name == ".." and not names:
                return None
            if name == "..":
                names.pop()
            elif name not in ("", "."):
                names.append(name)
        return f"{self._base}{quote('/'.join(names))}?format=image" if names else None
