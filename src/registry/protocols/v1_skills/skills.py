"""The skills of `/v1/skills`: list, read, create, delete."""

from functools import partial
from typing import Any

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.openapi.datastructures import ResponseSpec

from registry.catalog.listing import list_cards
from registry.domain.models import NewSkill, Skill
from registry.errors import FieldError, validation_error
from registry.http.conditional_requests import if_match, not_modified, tagged
from registry.http.envelope import Pagination
from registry.http.request_body import StrictRequest, is_upload
from registry.http.request_state import request_state
from registry.http.routes.code import SkillItem
from registry.http.routes.parameters import ERRORS, Deleted, ListPage, ReadyServices, each, skill_id
from registry.http.routes.skills import Enabled
from registry.http.thread_pools import ORDINARY_POOL
from registry.protocols.publication import take_package
from registry.protocols.v1_skills.requests import After, FilesOrJson, Order, PageToken, cursor
from registry.protocols.v1_skills.shapes import (
    CreatedSkillObject,
    DeletedSkillObject,
    ListedSkill,
    ListObject,
    SkillObject,
    created_object,
    list_object,
    listed_skill,
    skill_object,
)
from registry.publish.service import JobData
from registry.services import skills

TAGS = ["v1 skills"]


class PendingPublication(msgspec.Struct, kw_only=True):
    """A publication that goes on. `data` is its job, which `GET /api/registry/publish/{job_id}/status` returns too."""

    success: bool = True
    data: JobData
    id: str
    object: str


PENDING = ResponseSpec(PendingPublication, generate_examples=False, description="The checks take longer than 30 s")
_CREATED = ResponseSpec(CreatedSkillObject, generate_examples=False, description="The skill is created")


@get("/skills", tags=TAGS, responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def list_v1_skills(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    page: ListPage,
    enabled: Enabled = None,
    after: After = "",
    page_token: PageToken = "",
    order: Order = "asc",
) -> Response[ListObject[ListedSkill]]:
    """List skills in the order of their creation, from an offset or behind a skill."""
    start = cursor(page, after, page_token)
    if page.offset and order == "desc":
        raise validation_error(FieldError("offset", "cannot be combined with order=desc"))
    newest_first = order == "desc"
    card_page = list_cards(services.database, page.limit, page.offset, enabled, after=start, newest_first=newest_first)
    items = [listed_skill(msgspec.json.decode(card, type=SkillItem)) for card in card_page.cards]
    pagination = Pagination(card_page.total, page.limit, card_page.offset)
    answer = list_object(items, [item.id for item in items], pagination, has_more=card_page.has_more)
    return tagged(request, answer)


@get(each("/skills/{id}"), tags=TAGS, responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def get_v1_skill(request: Request[Any, Any, Any], services: ReadyServices) -> Response[SkillObject]:
    """Return a skill in full."""
    skill = skills.read_skill(services, skill_id(request))
    return not_modified(request, skill_object(skill), skill.etag)


@post(
    "/skills",
    tags=TAGS,
    responses={**ERRORS, 201: _CREATED, 202: PENDING},
    operation_class=FilesOrJson,
    role="manager",
    operations=("publish",),
    uploads=True,
    fails={409},
)
async def create_v1_skill(
    request: StrictRequest, services: ReadyServices
) -> Response[CreatedSkillObject] | Response[PendingPublication]:
    """Publish the files of a skill and wait for the result, or create a skill from JSON as below `/api/code/v1`.

    In the local profile, the files become a folder. A publication that takes longer than 30 s is answered with 202.
    """
    if is_upload(request, request.route_handler):
        taken = await take_package(request, services)
        if isinstance(taken, JobData) and taken.status != "accepted":
            return Response(PendingPublication(data=taken, id=taken.skill_id, object="skill"), status_code=202)
        if not isinstance(taken, Skill):
            taken = await ORDINARY_POOL.run(skills.read_skill, services, taken.skill_id)
        skill = taken
    else:
        new = await request.decoded(NewSkill)
        skill = await ORDINARY_POOL.run(
            skills.create_from_fields, services, new, request_state(request.scope).principal
        )
    headers = {"Location": f"/v1/skills/{skill.id}", "ETag": skill.etag}
    return Response(created_object(skill), status_code=201, headers=headers)


@delete(
    each("/skills/{id}"),
    status_code=200,
    tags=TAGS,
    responses=ERRORS,
    role="manager",
    operations=("yank",),
    fails={409, 412},
)
async def delete_v1_skill(request: Request[Any, Any, Any], services: ReadyServices) -> DeletedSkillObject:
    """Delete a skill with its folder and versions. If it is published, yank every version."""
    path_id = skill_id(request)
    caller = request_state(request.scope).principal
    remove = partial(skills.uninstall_skill, services, path_id, if_match(request), caller)
    _, message = await ORDINARY_POOL.run(skills.deleted, services, path_id, None, remove)
    return DeletedSkillObject(data=Deleted(id=path_id, message=message), id=path_id)


SKILLS = [list_v1_skills, get_v1_skill, create_v1_skill, delete_v1_skill]
