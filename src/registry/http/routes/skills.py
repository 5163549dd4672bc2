"""Skills: list, read, create, update, delete."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal, cast

import msgspec
from litestar import Request, Response, delete, get, post, put
from litestar.di import NamedDependency, Provide
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, JSONBody, QueryParameter
from msgspec import UNSET, UnsetType

from registry.catalog.dependents import Dependent, list_dependents
from registry.catalog.listing import list_cards
from registry.domain.api import API
from registry.domain.models import Card, Skill, SkillChanges
from registry.errors import FieldError, validation_error
from registry.http.conditional_requests import if_match, not_modified, tagged
from registry.http.cursors import Cursor, next_by_offset, next_page, position_at
from registry.http.envelope import Ok, Pagination
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS, Deleted, ListPage, OptionalBody, ReadyServices, each, skill_id
from registry.http.routes.search import filters
from registry.http.thread_pools import ORDINARY_POOL, OUTGOING_POOL
from registry.install.schemas import SkillRequest, UpgradeBody, UpgradeData
from registry.services import skills
from registry.services.install_jobs import InstallJob
from registry.services.listing import Overview
from registry.services.schemas import Facets, ListSort, SearchFilters

Enabled = Annotated[bool | None, QueryParameter(description="Only skills that are, or are not, enabled")]


class Cards(msgspec.Struct, kw_only=True):
    """The envelope of a list of skills. `facets` are there if they were requested."""

    data: list[Card]
    pagination: Pagination
    facets: Facets | UnsetType = UNSET
    success: Literal[True] = True


@get(
    "/skills",
    tags=["skills"],
    responses=ERRORS,
    role="user",
    dependencies={"filters": Provide(filters, sync_to_thread=False)},
)
@ORDINARY_POOL.handler
def list_skills(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    page: ListPage,
    filters: NamedDependency[SearchFilters],
    cursor: Cursor = "",
    sort: Annotated[ListSort | None, QueryParameter(description="The order; else that of creation")] = None,
    facets: Annotated[bool, QueryParameter(description="Count the values of all skills of the list")] = False,
    group: Annotated[bool, QueryParameter(description="List one of near-copies")] = False,
) -> Response[Cards]:
    """List skills in the order of their creation, from an offset or a cursor. `Link` names the next page.

    With filters, an order, facets or groups, the list has what a search with the same filters can find: enabled skills,
    also those that sources list.
    """
    is_plain = filters == SearchFilters(enabled=filters.enabled) and sort is None and not facets and not group
    if is_plain:
        card_page = list_cards(
            services.database, page.limit, page.offset, filters.enabled, after=position_at(cursor, page)
        )
        cards = [services.usage.shown(key, card) for key, card in zip(card_page.keys, card_page.cards, strict=True)]
        answer = Cards(data=_raw(cards), pagination=Pagination(card_page.total, page.limit, card_page.offset))
        return tagged(request, answer, next_page(request, services, card_page))
    if cursor:
        raise validation_error(FieldError("cursor", "cannot be combined with filters or an order: use offset"))
    listed = services.lists.page(filters, sort, page.limit, page.offset, group=group, facets=facets)
    answer = Cards(
        data=_raw(listed.cards),
        pagination=Pagination(listed.total, page.limit, page.offset),
        facets=UNSET if listed.facets is None else listed.facets,
    )
    return tagged(request, answer, next_by_offset(request, services, page, len(listed.cards), listed.total))


@get("/overview", tags=["skills"], responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def get_overview(request: Request[Any, Any, Any], services: ReadyServices) -> Response[Ok[Overview]]:
    """Return what there is: the newest skills and those changed last, the most tags, and names to search for."""
    return tagged(request, Ok(services.lists.overview()))


def _raw(cards: Sequence[bytes]) -> list[Card]:
    return cast("list[Card]", [msgspec.Raw(card) for card in cards])


@get(each("/skills/{id}"), tags=["skills"], responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def get_skill(request: Request[Any, Any, Any], services: ReadyServices) -> Response[Ok[Skill]]:
    """Return a skill in full."""
    skill = skills.read_skill(services, skill_id(request))
    return not_modified(request, Ok(skill), skill.etag)


@get(each("/skills/{id}/dependents"), tags=["skills"], responses=ERRORS, role="user")
async def get_dependents(
    request: Request[Any, Any, Any], services: ReadyServices, page: ListPage
) -> Ok[list[Dependent]]:
    """List the skills that need this one, each with the range of versions that it accepts."""
    path_id = skill_id(request)
    dependents, total = await ORDINARY_POOL.run(list_dependents, services.database, path_id, page.limit, page.offset)
    return Ok(dependents, Pagination(total, page.limit, page.offset))


Cascade = Annotated[bool, QueryParameter(description="Delete the installed skills that need this one too")]


class RemovedSkills(Deleted, kw_only=True):
    """What was deleted. `removed` are the ids of all skills where others went along, that of the request last."""

    removed: list[str] | UnsetType = UNSET


InBackground = Annotated[
    bool,
    QueryParameter(name="async", description="Answer an installation at once with a job that reports its progress"),
]


@post(
    "/skills",
    tags=["skills"],
    responses={
        **ERRORS,
        201: ResponseSpec(Ok[Skill], generate_examples=False, description="The skill is installed or created"),
        202: ResponseSpec(Ok[InstallJob], generate_examples=False, description="The job has started"),
    },
    role="manager",
    operations=("publish",),
    fails={404, 409},
)
async def create_skill(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    data: JSONBody[SkillRequest],
    in_background: InBackground = False,
) -> Response[Ok[Skill]] | Response[Ok[InstallJob]]:
    """Install a skill from the origin in the body, or create it: in the local profile as a folder, else as a record."""
    if in_background:
        job = await ORDINARY_POOL.run(skills.start_install, services, data, request_state(request.scope).principal)
        return Response(Ok(job), status_code=202, headers={"Location": f"{API}/installs/{job.job_id}"})
    pool = OUTGOING_POOL if skills.is_install(services, data) else ORDINARY_POOL
    skill = await pool.run(skills.create_skill, services, data, request_state(request.scope).principal)
    location = f"{request.url.path.rstrip('/')}/{skill.id}"
    return Response(Ok(skill), status_code=201, headers={"Location": location, "ETag": skill.etag})


@get("/installs/{job_id:str}", tags=["skills"], responses=ERRORS, role="manager", operations=("read", "publish"))
@ORDINARY_POOL.handler
def get_install(services: ReadyServices, job_id: FromPath[str]) -> Ok[InstallJob]:
    """Return an installation in the background: its step, and at the end the skill or the error."""
    return Ok(services.install_jobs.get(job_id))


@delete("/installs/{job_id:str}", status_code=202, tags=["skills"], responses=ERRORS, role="manager", fails={409})
@ORDINARY_POOL.handler
def cancel_install(services: ReadyServices, job_id: FromPath[str]) -> Ok[InstallJob]:
    """Cancel an installation in the background."""
    return Ok(services.install_jobs.cancel(job_id))


@put(each("/skills/{id}"), tags=["skills"], responses=ERRORS, role="manager", operations=("publish",), fails={409, 412})
async def update_skill(
    request: Request[Any, Any, Any], services: ReadyServices, data: JSONBody[SkillChanges]
) -> Response[Ok[dict[str, Any]]]:
    """Change the fields sent. Return the id, the changed fields and `updated_at`."""
    path_id, caller = skill_id(request), request_state(request.scope).principal
    skill = await ORDINARY_POOL.run(skills.update_skill, services, path_id, data, if_match(request), caller)
    sent = [name for name in data.__struct_fields__ if getattr(data, name) is not msgspec.UNSET]
    names = dict.fromkeys(("id", *sent, "updated_at"))
    changed = {name: getattr(skill, name) for name in names if hasattr(skill, name)}
    return Response(Ok(changed), headers={"ETag": skill.etag})


@delete(
    each("/skills/{id}"),
    status_code=200,
    tags=["skills"],
    responses=ERRORS,
    role="manager",
    operations=("yank",),
    fails={409, 412},
)
async def delete_skill(
    request: Request[Any, Any, Any], services: ReadyServices, cascade: Cascade = False
) -> Ok[RemovedSkills]:
    """Delete a skill with its folder and versions, in the local profile also from the manifest and the lock file."""
    path_id, caller = skill_id(request), request_state(request.scope).principal
    remove = partial(skills.uninstall_skill, services, path_id, if_match(request), caller, cascade=cascade)
    removed, message = await ORDINARY_POOL.run(skills.deleted, services, path_id, None, remove)
    return Ok(RemovedSkills(id=path_id, message=message, removed=removed if len(removed) > 1 else UNSET))


@post(
    each("/skills/{id}/restore"),
    status_code=200,
    tags=["skills"],
    responses=ERRORS,
    role="manager",
    operations=("yank",),
    fails={409},
)
async def restore_skill(request: Request[Any, Any, Any], services: ReadyServices) -> Ok[Skill]:
    """Undo the deletion of a skill: of a published one, or of a folder that the bin still has."""
    path_id, caller = skill_id(request), request_state(request.scope).principal
    return Ok(await ORDINARY_POOL.run(skills.restore_skill, services, path_id, caller))


@get("/bin", tags=["skills"], responses=ERRORS, role="manager")
@ORDINARY_POOL.handler
def list_bin(services: ReadyServices) -> Ok[list[skills.BinnedSkill]]:
    """List the uninstalled skills that can be restored, what was removed last first."""
    return Ok(skills.list_bin(services))


@post(
    "/skills/upgrade",
    status_code=200,
    tags=["skills"],
    responses=ERRORS,
    operation_class=OptionalBody,
    role="manager",
    fails={404, 409},
)
@OUTGOING_POOL.handler
def upgrade_skills(services: ReadyServices, data: JSONBody[UpgradeBody]) -> Ok[UpgradeData]:
    """Upgrade one installed skill or all from their origins. One failure does not stop the others."""
    return Ok(services.upgrader.run(data))


SKILLS = [list_skills, get_skill, create_skill, update_skill, delete_skill]
INSTALLS = [get_install, cancel_install, restore_skill, list_bin]
