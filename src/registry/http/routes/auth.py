"""Tokens: issue, verify, end (the specification's *Profile A: token and auth routes*)."""

from typing import Any, Literal

import msgspec
from litestar import Request, Response, get, post
from litestar.params import JSONBody

from registry.auth.issuing import Caller, TokenData, TokenRequest
from registry.domain.models import timestamp_of
from registry.domain.roles import PUBLIC, Role
from registry.errors import RegistryError, invalid_token, validation_error
from registry.http.admission import connection_of, principal_of
from registry.http.envelope import Ok
from registry.http.request_id import request_id_of
from registry.http.routes.parameters import ERRORS, OptionalBody, RunningServices
from registry.http.thread_pools import ADMINISTRATION_POOL

_NO_STORE = {"Cache-Control": "no-store"}


class Verified(msgspec.Struct, kw_only=True):
    """The owner of a valid credential. An API key has no user and no expiry."""

    valid: Literal[True] = True
    user: str | None
    role: Role
    scope: str | None
    expires_at: str | None


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
    caller = Caller(request.scope["headers"], connection_of(request.scope), request_id_of(request.scope))
    return Response(Ok(running.registry.issuer.issue(data, caller)), headers=_NO_STORE)


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
    return Response(Ok(verified), headers=_NO_STORE)


class LoggedOut(msgspec.Struct, kw_only=True):
    """The result of a logout."""

    message: str


@post("/logout", status_code=200, tags=["auth"], responses=ERRORS, role="user", fails={400})
@ADMINISTRATION_POOL.handler
def end_token(request: Request[Any, Any, Any], running: RunningServices) -> Ok[LoggedOut]:
    """Revoke the token of the request."""
    principal = principal_of(request.scope)
    if principal.token_id is None or principal.expires_at is None:
        raise validation_error(message="Only tokens end so: an administrator revokes API keys")
    running.registry.access.revocations.revoke(principal.token_id, principal.expires_at)
    return Ok(LoggedOut(message="The token has ended"))


AUTH = [issue_token, verify_token, end_token]
