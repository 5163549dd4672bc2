"""The documents and files below `.well-known/agent-skills/`, and the same below `.well-known/skills/`."""

from contextlib import suppress
from typing import Any

from litestar import Request, Response, get
from litestar.params import FromPath

from registry.errors import RegistryError, not_found
from registry.http.links import base_url
from registry.http.routes.parameters import ERRORS, ReadyServices, each, skill_id
from registry.http.thread_pools import PACKAGE_POOL
from registry.protocols.file_responses import document_response, file_response, zip_response
from registry.protocols.well_known.documents import DiscoveryDocument, discoverable, document
from registry.services.container import Services
from registry.services.skill_files import SkillPackage

_TAGS = ["well-known discovery"]
_FOLDERS = ("/.well-known/agent-skills", "/.well-known/skills")
_INDEX = "index.json"
_OF_SKILL = [path for folder in _FOLDERS for path in each(f"/s/{{id}}{folder}")]
_PART: dict[str, Any] = {
    "tags": _TAGS,
    "responses": ERRORS,
    "role": "user",
    "packed": True,
    "fails": {409, 429},
    "media_type": "*/*",
}
"""The options of a route that sends the zip of a skill or one of its files."""


@get([f"{path}/{_INDEX}" for path in _OF_SKILL], tags=_TAGS, responses=ERRORS, role="user", fails={409})
async def get_skill_index(request: Request[Any, Any, Any], services: ReadyServices) -> Response[DiscoveryDocument]:
    """Return the discovery document of one skill."""
    package = await _package(request, services, skill_id(request))
    return await _document(request, services, [package])


@get([f"{path}/{{path:path}}" for path in _OF_SKILL], **_PART)
async def get_skill_part(
    request: Request[Any, Any, Any], services: ReadyServices, path: FromPath[str]
) -> Response[Any]:
    """Return the zip of a skill, `{name}.zip`, or one of its files, `{name}/{file}`."""
    package = await _package(request, services, skill_id(request))
    return await _part(request, [package], path)


@get([f"{folder}/{_INDEX}" for folder in _FOLDERS], tags=_TAGS, responses=ERRORS, role="user", fails={404, 409})
async def get_root_index(request: Request[Any, Any, Any], services: ReadyServices) -> Response[DiscoveryDocument]:
    """Return the discovery document of `protocols.root_skills`, 404 if that names none."""
    return await _document(request, services, await _root_packages(request, services))


@get([f"{folder}/{{path:path}}" for folder in _FOLDERS], **_PART)
async def get_root_part(request: Request[Any, Any, Any], services: ReadyServices, path: FromPath[str]) -> Response[Any]:
    """Return the zip or a file of one of `protocols.root_skills`."""
    return await _part(request, await _root_packages(request, services), path)


async def _package(request: Request[Any, Any, Any], services: Services, path_id: str) -> SkillPackage:
    return await PACKAGE_POOL.run(discoverable, services, path_id, base_url(request, services))


async def _root_packages(request: Request[Any, Any, Any], services: Services) -> list[SkillPackage]:
    """Return the packages of `protocols.root_skills`, of several of one name the first. Raises NOT_FOUND for none."""
    packages: dict[str, SkillPackage] = {}
    for root_id in services.settings.protocols.root_skills:
        with suppress(RegistryError):  # one that is disabled or gone does not hide the others
            packages.setdefault(root_id.rpartition("/")[2], await _package(request, services, root_id))
    if not packages:
        raise not_found("Index")
    return list(packages.values())


async def _document(
    request: Request[Any, Any, Any], services: Services, packages: list[SkillPackage]
) -> Response[DiscoveryDocument]:
    return document_response(request, await PACKAGE_POOL.run(document, services, packages))


async def _part(request: Request[Any, Any, Any], packages: list[SkillPackage], path: str) -> Response[Any]:
    for package in packages:
        name = package.skill_id.rpartition("/")[2]
        if path.removeprefix("/") == f"{name}.zip":
            await PACKAGE_POOL.run(lambda content: content.digest, package)
            return zip_response(request, package)
        file = package.files.get(path.removeprefix(f"/{name}/"))
        if file is not None and path.startswith(f"/{name}/"):
            return file_response(request, file)
    raise not_found("File")


DOCUMENTS = [get_skill_index, get_skill_part, get_root_index, get_root_part]
