"""The project: its manifest, its installed skills, and its rule file for editors."""

from typing import Any

import msgspec
from litestar import Request, Response, delete, get, post, put
from litestar.params import JSONBody

from registry.domain.agents import RuleFileKind
from registry.http.envelope import Ok
from registry.http.routes.parameters import (
    ERRORS,
    Deleted,
    OptionalBody,
    ReadyServices,
    RunningServices,
    each,
    skill_id,
)
from registry.http.thread_pools import ORDINARY_POOL
from registry.project.manifest_file import DependencyChanges, NewDependency
from registry.project.overview import (
    GeneratedMdc,
    ManifestSkill,
    ProjectData,
    generate,
    manifest_skill,
    manifest_skills,
    project_data,
)


class MdcBody(msgspec.Struct, kw_only=True):
    """Whether to write the rule file or only return its text; and which: that of editors, AGENTS.md or CLAUDE.md."""

    write: bool = True
    file: RuleFileKind = "mdc"


@get("/project", tags=["project"], responses=ERRORS, role="user", fails={400})
@ORDINARY_POOL.handler
def get_project(services: ReadyServices) -> Ok[ProjectData]:
    """Return the project's metadata and skills, with their installed versions."""
    return Ok(project_data(services.manifest.read(), services.catalog))


@get("/manifest/skills", tags=["project"], responses=ERRORS, role="user", fails={400})
@ORDINARY_POOL.handler
def list_manifest_skills(running: RunningServices) -> Ok[list[ManifestSkill]]:
    """List the skills of the manifest, in its order."""
    return Ok(manifest_skills(running.manifest.read()))


@post("/manifest/skills", tags=["project"], responses=ERRORS, role="manager", fails={409})
@ORDINARY_POOL.handler
def add_manifest_skill(
    request: Request[Any, Any, Any], running: RunningServices, data: JSONBody[NewDependency]
) -> Response[Ok[ManifestSkill]]:
    """Add a skill to the manifest."""
    added = running.manifest.add(data)
    location = f"{request.url.path.rstrip('/')}/{data.skill_id}"
    return Response(Ok(manifest_skill(data.skill_id, added)), status_code=201, headers={"Location": location})


@put(each("/manifest/skills/{id}"), tags=["project"], responses=ERRORS, role="manager", of_scope=False, fails={409})
async def change_manifest_skill(
    request: Request[Any, Any, Any], running: RunningServices, data: JSONBody[DependencyChanges]
) -> Ok[ManifestSkill]:
    """Change the fields sent of one manifest skill."""
    path_id = skill_id(request)
    return Ok(manifest_skill(path_id, await ORDINARY_POOL.run(running.manifest.change, path_id, data)))


@delete(
    each("/manifest/skills/{id}"),
    status_code=200,
    tags=["project"],
    responses=ERRORS,
    role="manager",
    of_scope=False,
    fails={409},
)
async def remove_manifest_skill(request: Request[Any, Any, Any], running: RunningServices) -> Ok[Deleted]:
    """Remove a skill from the manifest. It stays installed."""
    path_id = skill_id(request)
    await ORDINARY_POOL.run(running.manifest.remove, path_id)
    return Ok(Deleted(id=path_id, message=f"Skill '{path_id}' removed from the manifest"))


@post(
    "/manifest/generate-mdc",
    status_code=200,
    tags=["project"],
    responses=ERRORS,
    operation_class=OptionalBody,
    role="manager",
    fails={409},
)
@ORDINARY_POOL.handler
def generate_mdc_file(services: ReadyServices, data: JSONBody[MdcBody]) -> Ok[GeneratedMdc]:
    """Write the installed skills as a rule file for editors, `.cursor/rules/skills.mdc`.

    With `file`, write them as a block of AGENTS.md or CLAUDE.md, whose other text stays.
    """
    folder = services.manifest.folder
    return Ok(generate(services.catalog, services.settings.skills_dir, folder, data.file, write=data.write))


MANIFEST_ALONE = [
    list_manifest_skills,
    add_manifest_skill,
    change_manifest_skill,
    remove_manifest_skill,
    generate_mdc_file,
]
"""The routes of the manifest, which registry mode also serves below `/api/manifest`."""

MANIFEST = [get_project, *MANIFEST_ALONE]
