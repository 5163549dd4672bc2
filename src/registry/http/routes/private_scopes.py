"""Private scopes: administrators add and close them, and their owners say who is a member."""

from typing import Any

from litestar import Request, Response, delete, get, post, put
from litestar.params import FromPath, JSONBody

from registry.auth.private_scopes import (
    Member,
    MemberChange,
    NewPrivateScope,
    PrivateScope,
    is_private,
)
from registry.domain.api import API
from registry.domain.roles import Principal, Username
from registry.domain.validation import convert
from registry.errors import not_found
from registry.http.admission import principal_of
from registry.http.cursors import paged
from registry.http.envelope import Ok
from registry.http.routes.admin import Removed
from registry.http.routes.parameters import ERRORS, ListPage, RunningServices, each, skill_id
from registry.http.thread_pools import ADMINISTRATION_POOL
from registry.publish.private_scopes import refusing
from registry.services.container import Services

_SCOPES: dict[str, Any] = {"tags": ["private scopes"], "responses": ERRORS, "role": "admin"}
_MEMBERS: dict[str, Any] = {**_SCOPES, "role": "user", "of_scope": False, "operations": ()}
"""What owners and administrators do. For everybody else there is no such scope."""


@get("/private-scopes", tags=["private scopes"], responses=ERRORS, role="user")
@ADMINISTRATION_POOL.handler
def list_private_scopes(
    request: Request[Any, Any, Any], running: RunningServices, page: ListPage
) -> Response[Ok[list[PrivateScope]]]:
    """List the private scopes that the caller is a member of by name; for administrators, all of them."""
    caller = principal_of(request.scope)
    only_own = caller.role != "admin"
    scopes, total = running.private_scopes.list(page.limit, page.offset, caller.user or "", only_own=only_own)
    return paged(request, running, scopes, total, page)


@post("/private-scopes", fails={409}, **_SCOPES)
@ADMINISTRATION_POOL.handler
def add_private_scope(running: RunningServices, data: JSONBody[NewPrivateScope]) -> Response[Ok[PrivateScope]]:
    """Make a scope private before anything is published to it, and name its first owner."""
    settings = running.settings
    scope = running.private_scopes.add(data, settings.limits.private_scopes, refusing(settings, data.scope))
    return Response(Ok(scope), status_code=201, headers={"Location": f"{API}/private-scopes/{scope.scope}/members"})


@delete("/private-scopes/{scope_name:str}", status_code=200, **_SCOPES)
@ADMINISTRATION_POOL.handler
def close_private_scope(running: RunningServices, scope_name: FromPath[str]) -> Ok[Removed]:
    """Serve a private scope no more. Its skills and members are kept, and come back when it is added again."""
    running.private_scopes.close(scope_name)
    return Ok(Removed(id=scope_name, message=f"Scope '{scope_name}' closed"))


@get("/private-scopes/{scope_name:str}/members", **{**_MEMBERS, "operations": ("read",)})
@ADMINISTRATION_POOL.handler
def list_members(
    request: Request[Any, Any, Any], running: RunningServices, page: ListPage, scope_name: FromPath[str]
) -> Response[Ok[list[Member]]]:
    """List the members of a private scope, by name. Its members and administrators may."""
    _check(running, principal_of(request.scope), scope_name, owns=False)
    members, total = running.private_scopes.members(scope_name, page.limit, page.offset)
    return paged(request, running, members, total, page)


@put(each("/private-scopes/{scope_name:str}/members/{id}"), **_MEMBERS)
async def set_member(
    request: Request[Any, Any, Any], running: RunningServices, scope_name: FromPath[str], data: JSONBody[MemberChange]
) -> Ok[Member]:
    """Make a user a member of a private scope, or change the role. Its owners and administrators may."""
    caller, name = principal_of(request.scope), skill_id(request)

    def change() -> Member:
        _check(running, caller, scope_name, owns=True)
        user: str = convert(name, Username, field="id")
        return running.private_scopes.set_member(scope_name, user, data.role)

    return Ok(await ADMINISTRATION_POOL.run(change))


@delete(each("/private-scopes/{scope_name:str}/members/{id}"), status_code=200, **_MEMBERS)
async def remove_member(
    request: Request[Any, Any, Any], running: RunningServices, scope_name: FromPath[str]
) -> Ok[Removed]:
    """End a membership of a private scope. Its owners and administrators may, and the member itself."""
    caller, name = principal_of(request.scope), skill_id(request)

    def remove() -> None:
        _check(running, caller, scope_name, owns=caller.user != name)
        running.private_scopes.remove_member(scope_name, name)

    await ADMINISTRATION_POOL.run(remove)
    return Ok(Removed(id=name, message=f"'{name}' is no member of the scope '{scope_name}' any more"))


def _check(running: Services, caller: Principal, scope: str, *, owns: bool) -> None:
    """Raise NOT_FOUND unless the caller is an administrator, or a member of a private scope, or an owner if `owns`."""
    member = running.private_scopes.acting(caller, scope)
    may = member is not None and (member.role == "admin" or not owns)
    if not (may or (caller.role == "admin" and is_private(running.database, scope))):
        raise not_found("Scope")


PRIVATE_SCOPES = [
    *(list_private_scopes, add_private_scope, close_private_scope),
    *(list_members, set_member, remove_member),
]
