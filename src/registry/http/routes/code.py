"""The code v1 API: skills and versions exactly as the specification's tables have them."""

from functools import partial
from typing import Any

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.params import FromPath, JSONBody

from registry.catalog.listing import list_cards
from registry.domain.models import NewSkill, NewVersion, SkillVersion, VersionItem
from registry.http.admission import principal_of
from registry.http.conditional_requests import if_match, not_modified, tagged
from registry.http.cursors import Cursor, next_page, paged, position_at
from registry.http.envelope import Ok, Pagination
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS, ListPage, ReadyServices, each, skill_id
from registry.http.routes.skills import Enabled, delete_skill, get_skill, update_skill
from registry.http.thread_pools import ORDINARY_POOL
from registry.services import skills

_TAGS = ["code v1"]


class SkillItem(msgspec.Struct, kw_only=True):
    """A skill in a list of the code v1 API."""

    id: str
    name: str
    description: str
    version: str
    author: str
    enabled: bool
    created_at: str
    updated_at: str


class CreatedSkill(msgspec.Struct, kw_only=True):
    """The response of the code v1 API to a creation."""

    id: str
    name: str
    description: str
    version: str
    enabled: bool
    created_at: str
    updated_at: str


class DeletedVersion(msgspec.Struct, kw_only=True):
    """Which version was deleted."""

    skill_id: str
    version: str
    message: str


@get("/skills", tags=_TAGS, responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def list_code_skills(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    page: ListPage,
    enabled: Enabled = None,
    cursor: Cursor = "",
) -> Response[Ok[list[SkillItem]]]:
    """List skills in the order of their creation, from an offset or a cursor. `Link` names the next page."""
    card_page = list_cards(services.database, page.limit, page.offset, enabled, after=position_at(cursor, page))
    items = [msgspec.json.decode(card, type=SkillItem) for card in card_page.cards]
    answer = Ok(items, Pagination(card_page.total, page.limit, card_page.offset))
    return tagged(request, answer, next_page(request, services, card_page))


@post("/skills", tags=_TAGS, responses=ERRORS, role="manager", operations=("publish",), fails={409})
@ORDINARY_POOL.handler
def create_code_skill(
    request: Request[Any, Any, Any], services: ReadyServices, data: JSONBody[NewSkill]
) -> Response[Ok[CreatedSkill]]:
    """Create a skill as a record. `source_url` and the like are provenance; nothing is fetched."""
    skill = skills.create_from_fields(services, data, request_state(request.scope).principal)
    created = msgspec.convert(skill, CreatedSkill, from_attributes=True)
    location = f"{request.url.path.rstrip('/')}/{skill.id}"
    return Response(Ok(created), status_code=201, headers={"Location": location, "ETag": skill.etag})


@post(each("/skills/{id}/versions"), tags=_TAGS, responses=ERRORS, role="manager", operations=("publish",), fails={409})
async def create_version(
    request: Request[Any, Any, Any], services: ReadyServices, data: JSONBody[NewVersion]
) -> Response[Ok[SkillVersion]]:
    """Add a version to a skill. The highest becomes the current one."""
    path_id = skill_id(request)
    version = await ORDINARY_POOL.run(
        skills.add_version, services, path_id, data, request_state(request.scope).principal
    )
    location = f"{request.url.path.rstrip('/')}/{version.version}"
    return Response(Ok(version), status_code=201, headers={"Location": location})


@get(each("/skills/{id}/versions"), tags=_TAGS, responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def list_versions(
    request: Request[Any, Any, Any], services: ReadyServices, page: ListPage
) -> Response[Ok[list[VersionItem]]]:
    """List a skill's versions, newest first."""
    versions, total = services.catalog.versions(skill_id(request), page.limit, page.offset)
    return paged(request, services, versions, total, page)


@get(each("/skills/{id}/versions/{version:str}"), tags=_TAGS, responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def get_version(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str]
) -> Response[Ok[SkillVersion]]:
    """Return one version of a skill with what changed in it, also a withdrawn one of a published skill."""
    version_data, etag = skills.read_version(services, skill_id(request), version)
    return not_modified(request, Ok(version_data), etag)


@delete(
    each("/skills/{id}/versions/{version:str}"),
    status_code=200,
    tags=_TAGS,
    responses=ERRORS,
    role="manager",
    operations=("yank",),
    fails={409, 412},
)
async def delete_version(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str]
) -> Ok[DeletedVersion]:
    """Delete a version, or yank it if it is published. The last version of a skill cannot be deleted."""
    path_id = skill_id(request)
    caller = principal_of(request.scope)
    delete = partial(skills.delete_version, services, path_id, version, if_match(request), caller)
    _, message = await ORDINARY_POOL.run(skills.deleted, services, path_id, version, delete)
    return Ok(DeletedVersion(skill_id=path_id, version=version, message=message))


READ_VERSIONS = [list_versions, get_version]
VERSIONS = [create_version, *READ_VERSIONS, delete_version]
CODE_V1 = [list_code_skills, get_skill, create_code_skill, delete_skill, *VERSIONS, update_skill]
