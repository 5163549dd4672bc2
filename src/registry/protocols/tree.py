"""The files of all skills as a tree of static files, as `agentskills-http` reads them.

A folder has an `index.json`: the root names the skills, and the folder of a skill its files. The folder of a scope
names the skills of the scope, so that a client whose ids have no slash can take it as its root.
"""

from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.params import FromPath

from registry.errors import RegistryError, not_found
from registry.http.routes.parameters import ERRORS, ReadyServices
from registry.http.thread_pools import PACKAGE_POOL
from registry.protocols.file_responses import document_response, file_response
from registry.services.container import Services
from registry.services.skill_files import PackagedFile, SkillPackage

_INDEX = "index.json"
_TAGS = ["tree"]


class RootIndex(msgspec.Struct):
    """The index of the root: the ids of the skills."""

    skills: list[str]


class SkillIndex(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The index of a folder. `files` are those of a skill, `skills` the names below a scope."""

    files: list[str] = msgspec.field(default_factory=list)
    references: list[str] = msgspec.field(default_factory=list)
    scripts: list[str] = msgspec.field(default_factory=list)
    assets: list[str] = msgspec.field(default_factory=list)
    skills: list[str] = msgspec.field(default_factory=list)


@get(f"/tree/{_INDEX}", tags=_TAGS, responses=ERRORS, role="user")
async def get_tree(request: Request[Any, Any, Any], services: ReadyServices) -> Response[RootIndex]:
    """List the ids of the enabled skills that have files."""
    return document_response(request, RootIndex(await PACKAGE_POOL.run(services.skill_files.listed_ids)))


@get("/tree/{path:path}", tags=_TAGS, responses=ERRORS, role="user", fails={409, 429}, media_type="*/*")
async def get_tree_file(
    request: Request[Any, Any, Any], services: ReadyServices, path: FromPath[str]
) -> Response[SkillIndex] | Response[Any]:
    """Return a file of a skill, `{id}/{file}`, or the index of its folder or of a scope, `{id}/index.json`."""
    file = await PACKAGE_POOL.run(_found, services, path.removeprefix("/"))
    if isinstance(file, SkillIndex):
        return document_response(request, file)
    return file_response(request, file)


def _found(services: Services, path: str) -> SkillIndex | PackagedFile:
    """Return what is at a path. The longest id that exists is that of the skill. Raises NOT_FOUND."""
    first, second, *_ = [*path.split("/"), "", ""]
    for skill_id in (f"{first}/{second}", first):
        package = _package(services, skill_id)
        name = path.removeprefix(f"{skill_id}/")
        if package is not None and name == _INDEX:
            return _index(services, package, skill_id)
        if package is not None and name in package.files:
            return package.files[name]
    if path == f"{first}/{_INDEX}" and (names := _names_below(services, first)):
        return SkillIndex(skills=names)
    raise not_found("File")


def _package(services: Services, skill_id: str) -> SkillPackage | None:
    try:
        return services.skill_files.listed(skill_id)
    except RegistryError as error:
        if error.status == 404:
            return None
        raise


def _index(services: Services, package: SkillPackage, skill_id: str) -> SkillIndex:
    files = [path for path in package.files if path != _INDEX]  # whose place in the tree the index takes
    kinds = {kind: _names_in(files, kind) for kind in ("references", "scripts", "assets")}
    return SkillIndex(files=files, skills=_names_below(services, skill_id), **kinds)


def _names_in(files: list[str], folder: str) -> list[str]:
    return [path.removeprefix(f"{folder}/") for path in files if path.startswith(f"{folder}/")]


def _names_below(services: Services, scope: str) -> list[str]:
    ids = services.skill_files.listed_ids()
    return [skill_id.removeprefix(f"{scope}/") for skill_id in ids if skill_id.startswith(f"{scope}/")]


TREE = [get_tree, get_tree_file]
