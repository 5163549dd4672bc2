"""What users change of their own: the tokens that they make for programs, and the password."""

from typing import Annotated, Any

from litestar import Request, Response, delete, get, post, put
from litestar.params import FromPath, JSONBody, QueryParameter

from registry.auth.issuing import NewPassword, TokenData
from registry.auth.own_tokens import MadeOwnToken, NewOwnToken, OwnToken
from registry.domain.api import API
from registry.domain.roles import includes
from registry.errors import forbidden
from registry.http.admission import principal_of
from registry.http.cursors import paged
from registry.http.envelope import Ok
from registry.http.routes.admin import Removed
from registry.http.routes.auth import NO_STORE, caller_of
from registry.http.routes.parameters import ERRORS, ListPage, RunningServices
from registry.http.thread_pools import ADMINISTRATION_POOL

_OPTIONS: dict[str, Any] = {"tags": ["auth"], "responses": ERRORS, "role": "user", "operations": ()}

Owner = Annotated[
    str, QueryParameter(max_length=200, description="Another user, whose tokens only administrators may list")
]


@get("/auth/tokens", **_OPTIONS)
@ADMINISTRATION_POOL.handler
def list_tokens(
    request: Request[Any, Any, Any], running: RunningServices, page: ListPage, user: Owner = ""
) -> Response[Ok[list[OwnToken]]]:
    """List the tokens that the user has made, the newest first, without their texts."""
    caller = principal_of(request.scope)
    if user not in ("", caller.user) and not includes(caller.role, "admin"):
        raise forbidden("Only administrators list the tokens of other users: leave out 'user'")
    tokens, total = running.registry.access.own_tokens.list(user or caller.user, page.limit, page.offset)
    return paged(request, running, tokens, total, page)


@post("/auth/tokens", fails={409}, **_OPTIONS)
@ADMINISTRATION_POOL.handler
def create_token(
    request: Request[Any, Any, Any], running: RunningServices, data: JSONBody[NewOwnToken]
) -> Response[Ok[MadeOwnToken]]:
    """Make a token for a program: narrowed to operations and skills, and valid for a year at most.

    Only this response ever shows its text.
    """
    token = running.registry.access.own_tokens.create(data, principal_of(request.scope))
    headers = {"Location": f"{API}/auth/tokens/{token.id}", **NO_STORE}
    return Response(Ok(token), status_code=201, headers=headers)


@delete("/auth/tokens/{token_id:str}", status_code=200, **_OPTIONS)
@ADMINISTRATION_POOL.handler
def revoke_token(request: Request[Any, Any, Any], running: RunningServices, token_id: FromPath[str]) -> Ok[Removed]:
    """Revoke a token that the user has made; for administrators, one of any user."""
    running.registry.access.own_tokens.revoke(token_id, principal_of(request.scope))
    return Ok(Removed(id=token_id, message=f"Token '{token_id}' revoked"))


@put("/auth/me/password", fails={429}, **_OPTIONS)
@ADMINISTRATION_POOL.handler
def change_password(
    request: Request[Any, Any, Any], running: RunningServices, data: JSONBody[NewPassword]
) -> Response[Ok[TokenData]]:
    """Change the password of the user. The sign-ins of before end: the answer is the token of a new one."""
    issuer, caller = running.registry.issuer, caller_of(request)
    return Response(Ok(issuer.change_password(data, principal_of(request.scope), caller)), headers=NO_STORE)


ACCOUNT = [list_tokens, create_token, revoke_token, change_password]
