"""The versions of a skill below `/v1/skills`: list, read, create, delete. `latest` names the highest one."""

from functools import partial
from typing import Any

from litestar import Request, Response, delete, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath

from registry.domain.models import NewVersion, SkillVersion, VersionItem
from registry.errors import FieldError, validation_error
from registry.http.admission import principal_of
from registry.http.conditional_requests import if_match
from registry.http.envelope import Pagination
from registry.http.query_params import Page
from registry.http.request_body import StrictRequest, is_upload
from registry.http.request_state import request_state
from registry.http.routes.code import DeletedVersion
from registry.http.routes.parameters import ERRORS, ListPage, ReadyServices, each, skill_id
from registry.http.thread_pools import ORDINARY_POOL
from registry.protocols.publication import take_package
from registry.protocols.v1_skills.requests import After, FilesOrJson, Order, PageToken, cursor
from registry.protocols.v1_skills.shapes import (
    DeletedVersionObject,
    ListedVersion,
    ListObject,
    VersionObject,
    list_object,
    listed_version,
    version_object,
)
from registry.protocols.v1_skills.skills import PENDING, TAGS, PendingPublication
from registry.publish.service import JobData
from registry.services import skills
from registry.services.container import Services

_LATEST = "latest"
_ALL = 1 << 30


@get(each("/skills/{id}/versions"), tags=TAGS, responses=ERRORS, role="user")
async def list_v1_versions(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    page: ListPage,
    after: After = "",
    page_token: PageToken = "",
    order: Order = "desc",
) -> ListObject[ListedVersion]:
    """List a skill's versions, the highest first, from an offset or behind a version."""
    start = cursor(page, after, page_token)
    versions, total = await ORDINARY_POOL.run(services.catalog.versions, skill_id(request), _ALL, 0)
    versions_page, has_more = _page(versions if order == "desc" else versions[::-1], page, start)
    items = [listed_version(version) for version in versions_page]
    pagination = Pagination(total, page.limit, page.offset)
    return list_object(items, [item.id for item in items], pagination, has_more=has_more)


def _page(versions: list[VersionItem], page: Page, start: str | None) -> tuple[list[VersionItem], bool]:
    """Return one page, and whether more follows. Raises VALIDATION_ERROR if there is no version `start`."""
    first = page.offset
    if start is not None:
        numbers = [version.version for version in versions]
        if start not in numbers:
            raise validation_error(FieldError("after", "must be the id of a listed version"))
        first = numbers.index(start) + 1
    return versions[first : first + page.limit], len(versions) > first + page.limit


@get(each("/skills/{id}/versions/{version:str}"), tags=TAGS, responses=ERRORS, role="user")
@ORDINARY_POOL.handler
def get_v1_version(request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str]) -> VersionObject:
    """Return one version of a skill with what changed in it."""
    path_id = skill_id(request)
    return version_object(services.catalog.version(path_id, number_of(services, path_id, version)))


_CREATED = ResponseSpec(VersionObject, generate_examples=False, description="The version is created")


@post(
    each("/skills/{id}/versions"),
    tags=TAGS,
    responses={**ERRORS, 201: _CREATED, 202: PENDING},
    operation_class=FilesOrJson,
    role="manager",
    operations=("publish",),
    uploads=True,
    fails={409},
)
async def create_v1_version(
    request: StrictRequest, services: ReadyServices
) -> Response[VersionObject] | Response[PendingPublication]:
    """Publish the files of a version and wait for the result, or add a version from JSON as below `/api/code/v1`.

    A publication that takes longer than 30 s is answered with 202.
    """
    path_id = skill_id(request)
    version: SkillVersion
    if is_upload(request, request.route_handler):
        taken = await take_package(request, services, path_id)
        if isinstance(taken, JobData) and taken.status != "accepted":
            return Response(PendingPublication(data=taken, id=taken.version, object="skill.version"), status_code=202)
        version = await ORDINARY_POOL.run(services.catalog.version, path_id, taken.version)
    else:
        new = await request.decoded(NewVersion)
        caller = request_state(request.scope).principal
        version = await ORDINARY_POOL.run(skills.add_version, services, path_id, new, caller)
    location = f"/v1/skills/{path_id}/versions/{version.version}"
    return Response(version_object(version), status_code=201, headers={"Location": location})


@delete(
    each("/skills/{id}/versions/{version:str}"),
    status_code=200,
    tags=TAGS,
    responses=ERRORS,
    role="manager",
    operations=("yank",),
    fails={409, 412},
)
async def delete_v1_version(
    request: Request[Any, Any, Any], services: ReadyServices, version: FromPath[str]
) -> DeletedVersionObject:
    """Delete a version, or yank it if it is published. The last version of a skill cannot be deleted."""
    path_id = skill_id(request)
    caller = principal_of(request.scope) if services.settings.profile == "registry" else None
    delete = partial(skills.delete_version, services, path_id, version, if_match(request), caller)
    _, message = await ORDINARY_POOL.run(skills.deleted, services, path_id, version, delete)
    deleted = DeletedVersion(skill_id=path_id, version=version, message=message)
    return DeletedVersionObject(data=deleted, id=version, version=version)


def number_of(services: Services, skill_id: str, version: str) -> str:
    """Return the number of a version, which may be called `latest`. Raises SKILL_NOT_FOUND."""
    return services.catalog.get(skill_id).latest_version if version == _LATEST else version


VERSIONS = [list_v1_versions, get_v1_version, create_v1_version, delete_v1_version]
