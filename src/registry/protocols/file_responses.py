"""Responses with a file of a skill, with its zip, or with a generated document."""

import mimetypes
from typing import Any, TypeVar

from litestar import Request, Response
from litestar.status_codes import HTTP_200_OK

from registry.http.conditional_requests import not_modified, tagged
from registry.http.counted_uses import count_use
from registry.http.sent_files import sent_at_once_or_as_download
from registry.services.skill_files import PackagedFile, SkillPackage

_Content = TypeVar("_Content")

ZIP = "application/zip"
JSON = "application/json"

_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/javascript", "application/x-sh", None})


def file_response(request: Request[Any, Any, Any], file: PackagedFile) -> Response[Any]:
    """Return a file. No browser shows it as a page: text is plain text or Markdown, anything else is saved.

    Raises RATE_LIMITED and SERVICE_UNAVAILABLE for a large one if too many downloads are in progress.
    """
    kind, _ = mimetypes.guess_type(file.path)
    is_text = kind in _TEXT_TYPES or str(kind).startswith("text/")
    media_type = "text/markdown" if file.path.endswith(".md") else "text/plain"
    answer = not_modified(request, file.data, f'"{file.sha256}"')
    return sent_at_once_or_as_download(request, _kept(answer, media_type if is_text else "application/octet-stream"))


def zip_response(request: Request[Any, Any, Any], package: SkillPackage) -> Response[Any]:
    """Return the files of a skill as a zip. Raises as `file_response`."""
    name = f"{package.skill_id.rpartition('/')[2]}-{package.version}.zip"
    answer = not_modified(request, package.archive, f'"{package.digest}"')
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    if answer.status_code == HTTP_200_OK:
        count_use(request, package.skill_id, "downloaded")
    return sent_at_once_or_as_download(request, _kept(answer, ZIP))


def document_response(request: Request[Any, Any, Any], document: _Content) -> Response[_Content]:
    """Return a document as JSON."""
    return _kept(tagged(request, document), JSON)


def _kept(answer: Response[_Content], media_type: str) -> Response[_Content]:
    """Return a response that its caller may keep for a minute."""
    answer.media_type = media_type
    answer.headers.update({"Cache-Control": "private, max-age=60", "X-Content-Type-Options": "nosniff"})
    return answer
