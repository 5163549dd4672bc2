"""The files and the findings of every version of a skill, so that versions can be read, judged and compared."""

import io
from datetime import datetime
from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.params import FromPath

from registry.catalog.skill_backend import SkillFile
from registry.domain.findings import SkillFindings
from registry.errors import not_found
from registry.http.envelope import Ok
from registry.http.file_forms import FileForm, ImageAddresses, file_response
from registry.http.routes.parameters import ERRORS, ReadyServices, each, skill_id
from registry.http.thread_pools import ORDINARY_POOL, PACKAGE_POOL
from registry.services.container import Services
from registry.services.skills import findings_of

_OPTIONS: dict[str, Any] = {"tags": ["versions"], "responses": ERRORS, "role": "user"}


class VersionFile(msgspec.Struct, kw_only=True):
    """A file of a version: its path, its size in bytes, and the SHA-256 of its bytes in hexadecimal."""

    path: str
    size: int
    sha256: str


@get(each("/skills/{id}/versions/{version:str}/files"), **_OPTIONS)
async def list_version_files(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str]
) -> Ok[list[VersionFile]]:
    """List the files of one version of a skill with their sizes in bytes and their digests."""
    package = await PACKAGE_POOL.run(services.skill_files.get, skill_id(request), version)
    files = package.files.values()
    return Ok([VersionFile(path=file.path, size=len(file.data), sha256=file.sha256) for file in files])


@get(each("/skills/{id}/versions/{version:str}/files/{path:path}"), media_type="*/*", fails={429}, **_OPTIONS)
async def get_version_file(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str], form: FileForm = "raw"
) -> Response[Any]:
    """Return one file of one version of a skill, in the forms that a file of the current version has."""
    path = str(request.path_params["path"]).removeprefix("/")
    path_id = skill_id(request)
    file = await PACKAGE_POOL.run(_file, services, path_id, version, path)
    return await file_response(request, file, form, ImageAddresses(path_id, path, version))


@get(each("/skills/{id}/versions/{version:str}/findings"), **_OPTIONS)
@ORDINARY_POOL.handler
def get_version_findings(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str]
) -> Ok[SkillFindings | None]:
    """Return what was found in one version of a skill, also in a yanked one; null if it was not scanned."""
    return Ok(findings_of(services, services.catalog.get(skill_id(request)), version))


def _file(services: Services, path_id: str, version: str, path: str) -> SkillFile:
    package = services.skill_files.get(path_id, version)
    file = package.files.get(path)
    if file is None:
        raise not_found(f"File of version {version} of skill '{path_id}'")
    # A yanked version is in no list of the catalog, and can be read all the same.
    at = (
        services.published.find(path_id, version).published_at
        if package.fixed
        else services.catalog.get(path_id).updated_at
    )
    seconds = datetime.fromisoformat(at).timestamp()
    return SkillFile(path.rpartition("/")[2], len(file.data), seconds, f'"{file.sha256}"', io.BytesIO(file.data))


VERSION_FILES = [list_version_files, get_version_file, get_version_findings]
