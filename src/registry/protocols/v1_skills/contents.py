"""The files of a skill below `/v1/skills`, as a zip."""

from typing import Any

from litestar import Request, Response, get
from litestar.params import FromPath

from registry.http.conditional_requests import not_modified
from registry.http.routes.parameters import ERRORS, ReadyServices, each, skill_id
from registry.http.sent_files import sent_at_once_or_as_download
from registry.http.thread_pools import PACKAGE_POOL
from registry.protocols.v1_skills.skills import TAGS
from registry.protocols.v1_skills.versions import number_of
from registry.services.container import Services
from registry.services.skill_files import SkillPackage

_ZIP = "application/zip"

_OPTIONS: dict[str, Any] = {
    "tags": TAGS,
    "responses": ERRORS,
    "role": "user",
    "media_type": _ZIP,
    "packed": True,
    "fails": {409, 429},
}


@get(each("/skills/{id}/content"), **_OPTIONS)
async def get_v1_content(request: Request[Any, Any, Any], services: ReadyServices) -> Response[Any]:
    """Return the files of the current version as a zip."""
    return _zip(request, await PACKAGE_POOL.run(_loaded, services, skill_id(request), None))


@get(each("/skills/{id}/versions/{version:str}/content"), **_OPTIONS)
async def get_v1_version_content(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str]
) -> Response[Any]:
    """Return the files of a version as a zip. A yanked version is served, a revoked one is not."""
    return _zip(request, await PACKAGE_POOL.run(_loaded, services, skill_id(request), version))


def _loaded(services: Services, path_id: str, version: str | None) -> SkillPackage:
    number = None if version is None else number_of(services, path_id, version)
    package = services.skill_files.get(path_id, number)
    _ = package.digest  # computed here, in a thread
    return package


def _zip(request: Request[Any, Any, Any], package: SkillPackage) -> Response[Any]:
    answer = not_modified(request, package.archive, f'"{package.digest}"')
    name = package.skill_id.rpartition("/")[2]
    answer.media_type = _ZIP
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}-{package.version}.zip"'
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return sent_at_once_or_as_download(request, answer)


CONTENTS = [get_v1_content, get_v1_version_content]
