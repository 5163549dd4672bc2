"""Deletion and restoration by the ClawHub protocol. A published skill is yanked, and can be restored."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from litestar import Request, delete, post
from litestar.params import FromPath, JSONBody
from msgspec import Meta

from registry.domain.roles import Principal
from registry.http.request_state import request_state
from registry.http.routes.guards import refuse_if_not_owner
from registry.http.routes.parameters import OptionalBody, ReadyServices
from registry.http.thread_pools import ORDINARY_POOL
from registry.protocols.clawhub.account import Done
from registry.protocols.clawhub.errors import CHANGE_ERRORS
from registry.protocols.clawhub.finding import TAGS
from registry.protocols.clawhub.parameters import OwnerHandle
from registry.protocols.clawhub.references import LOCAL_OWNER, find_own_id
from registry.services import skills
from registry.services.container import Services


class Change(msgspec.Struct, kw_only=True, rename="camel"):
    """Whose skill is changed."""

    owner_handle: Annotated[str, Meta(max_length=100)] = ""


@delete(
    "/clawhub/api/v1/skills/{slug:str}",
    status_code=200,
    tags=TAGS,
    responses=CHANGE_ERRORS,
    operation_class=OptionalBody,
    role="manager",
    operations=("yank",),
    fails={409},
)
async def delete_clawhub_skill(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: FromPath[str],
    data: JSONBody[Change],
    owner: OwnerHandle = "",
) -> Done:
    """Delete a skill with its folder; if it is published, yank every version."""
    return await _change(
        request,
        services,
        slug,
        data.owner_handle or owner,
        lambda path_id, caller: skills.uninstall_skill(services, path_id, None, caller),
    )


@post(
    "/clawhub/api/v1/skills/{slug:str}/undelete",
    status_code=200,
    tags=TAGS,
    responses=CHANGE_ERRORS,
    operation_class=OptionalBody,
    role="manager",
    operations=("yank",),
    fails={409},
)
async def restore_clawhub_skill(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: FromPath[str],
    data: JSONBody[Change],
    owner: OwnerHandle = "",
) -> Done:
    """Restore a skill that was deleted: from the bin, or if it is published, with every yanked version."""
    # In the local profile, a deleted skill has no row that tells its owner.
    default = LOCAL_OWNER if services.settings.profile == "local" else ""
    return await _change(
        request,
        services,
        slug,
        data.owner_handle or owner or default,
        lambda path_id, caller: skills.restore_skill(services, path_id, caller),
    )


@delete(
    "/clawhub/api/v1/skills/{slug:str}/versions/{version:str}",
    status_code=200,
    tags=TAGS,
    responses=CHANGE_ERRORS,
    operation_class=OptionalBody,
    role="manager",
    operations=("yank",),
    fails={409},
)
async def delete_clawhub_version(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: FromPath[str],
    version: FromPath[str],
    data: JSONBody[Change],
    owner: OwnerHandle = "",
) -> Done:
    """Delete a version; if it is published, yank it."""
    return await _change(
        request,
        services,
        slug,
        data.owner_handle or owner,
        lambda path_id, caller: skills.delete_version(services, path_id, version, None, caller),
    )


@post(
    "/clawhub/api/v1/skills/{slug:str}/versions/{version:str}/restore",
    status_code=200,
    tags=TAGS,
    responses=CHANGE_ERRORS,
    operation_class=OptionalBody,
    role="manager",
    operations=("yank",),
    fails={409},
)
async def restore_clawhub_version(
    request: Request[Any, Any, Any],
    services: ReadyServices,
    slug: FromPath[str],
    version: FromPath[str],
    data: JSONBody[Change],
    owner: OwnerHandle = "",
) -> Done:
    """Restore a published version that was yanked."""
    return await _change(
        request,
        services,
        slug,
        data.owner_handle or owner,
        lambda path_id, caller: skills.restore_version(services, path_id, version, caller),
    )


async def _change(
    request: Request[Any, Any, Any],
    services: Services,
    slug: str,
    owner: str,
    change: Callable[[str, Principal | None], object],
) -> Done:
    """Change the skill that a slug and an owner mean, if the caller may. Raises FORBIDDEN, SKILL_NOT_FOUND."""
    caller = request_state(request.scope).principal

    def run() -> None:
        own_id = find_own_id(request, services, slug, owner, caller)
        if caller is not None:
            refuse_if_not_owner(services, caller, own_id)
        change(own_id, caller)

    await ORDINARY_POOL.run(run)
    return Done()


CHANGES = [delete_clawhub_skill, restore_clawhub_skill, delete_clawhub_version, restore_clawhub_version]
