"""Tokens: issue, verify, end (the specification's *Profile A: token and auth routes*)."""

from typing import Any, Literal

import msgspec
from litestar import Request, Response, get, post
from litestar.params import JSONBody
from msgspec import UNSET, UnsetType

from registry.auth.issuing import Caller, TokenData, TokenRequest
from registry.domain.models import timestamp_of
from registry.domain.roles import PUBLIC, Operation, Role
from registry.errors import RegistryError, invalid_token
from registry.http.admission import connection_of, principal_of
from registry.http.envelope import Ok
from registry.http.request_id import request_id_of
from registry.http.routes.parameters import ERRORS, OptionalBody, RunningServices
from registry.http.thread_pools import ADMINISTRATION_POOL

NO_STORE = {"Cache-Control": "no-store"}


class Verified(msgspec.Struct, kw_only=True):
    """The owner of a valid credential. An API key has no user and no expiry.

    `operations` and `skills` are what a token is narrowed to; of `skills`, none mean all of the scope.
    """

    valid: Literal[True] = True
    user: str | None
    role: Role
    scope: str | None
    expires_at: str | None
    operations: list[Operation] | UnsetType = UNSET
    skills: list[str] | UnsetType = UNSET


@post(
    "/token",
    status_code=200,
    tags=["auth"],
    responses=ERRORS,
    operation_class=OptionalBody,
    role=PUBLIC,
    changes=False,
    body_limit="token_body_bytes",
    fails={401, 403, 429},
    security=[{}, {"bearer": []}, {"api_key": []}],
)
@ADMINISTRATION_POOL.handler
def issue_token(
    request: Request[Any, Any, Any], running: RunningServices, data: JSONBody[TokenRequest]
) -> Response[Ok[TokenData]]:
    """Issue a token for a credential, or without one if the issuer is open."""
    return Response(Ok(running.registry.issuer.issue(data, caller_of(request))), headers=NO_STORE)


def caller_of(request: Request[Any, Any, Any]) -> Caller:
    """Return the origin of a request for a token."""
    return Caller(request.scope["headers"], connection_of(request.scope), request_id_of(request.scope))


@get(
    "/verify",
    tags=["auth"],
    responses=ERRORS,
    role=PUBLIC,
    fails={401},
    security=[{"bearer": []}, {"api_key": []}],
)
@ADMINISTRATION_POOL.handler
def verify_token(request: Request[Any, Any, Any], running: RunningServices) -> Response[Ok[Verified]]:
    """Verify the token or API key of the request."""
    try:
        # Anew: a token that another process has ended a moment ago is not said to be valid.
        principal = running.registry.access.identify(request.scope["headers"], use_cache=False)
    except RegistryError as error:
        raise invalid_token(str(error)) from None
    if principal is None:
        raise invalid_token("There is no token to verify")
    expires_at = None if principal.expires_at is None else timestamp_of(principal.expires_at)
    verified = Verified(user=principal.user, role=principal.role, scope=principal.scope, expires_at=expires_at)
    if principal.narrowing is not None:
        verified.operations = list(principal.narrowing.operations)
        verified.skills = list(principal.narrowing.skills)
    return Response(Ok(verified), headers=NO_STORE)


class LoggedOut(msgspec.Struct, kw_only=True):
    """The result of a logout."""

    message: str


@post(
    "/logout",
    status_code=200,
    tags=["auth"],
    responses=ERRORS,
    role="user",
    operations=("read", "publish", "yank"),
    fails={400},
)
@ADMINISTRATION_POOL.handler
def end_token(request: Request[Any, Any, Any], running: RunningServices) -> Ok[LoggedOut]:
    """Revoke the token of the request."""
    running.registry.access.end(principal_of(request.scope))
    return Ok(LoggedOut(message="The token has ended"))


AUTH = [issue_token, verify_token, end_token]
