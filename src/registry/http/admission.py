"""Who makes a request, and whether the caller may make it: the credential's role, and the caller's rate limit."""

from collections.abc import Collection
from typing import Any

from registry.auth.access import Headers, NotCachedError
from registry.auth.basic_credentials import with_password_as_credential
from registry.auth.locality import Connection
from registry.auth.rate_limits import Rate
from registry.db import DatabaseError
from registry.domain.roles import Operation, Principal, includes
from registry.errors import RegistryError, forbidden, rate_limited
from registry.http.quick_reads import quickly
from registry.http.request_state import request_state
from registry.services.container import Services

_READS: tuple[Operation, ...] = ("read",)


async def admit(
    services: Services,
    scope: Any,
    role: str,
    rate: Rate,
    *,
    basic: bool = False,
    operations: Collection[Operation] = _READS,
) -> Principal:
    """Return who makes a request that needs `role`. Raises UNAUTHORIZED, RATE_LIMITED, FORBIDDEN, DatabaseError.

    A narrowed token must be for one of `operations`; without any, it must not be narrowed.

    The request is counted once, and the response says what is left of the caller's limit. With `basic`, a token or an
    API key may also be the password of HTTP Basic.
    """
    state = request_state(scope)
    principal = state.principal or await _counted(services, scope, _headers(scope, basic=basic), role, rate)
    _require(principal, role)
    _refuse_narrowed(principal, operations)
    state.principal = principal
    return principal


async def count_again(services: Services, scope: Any, role: str, rate: Rate) -> None:
    """Count one more request of an admitted caller, for a body of several. Raises UNAUTHORIZED, RATE_LIMITED."""
    if request_state(scope).principal is not None:
        await _counted(services, scope, _headers(scope, basic=False), role, rate)


async def admit_again(services: Services, scope: Any, role: str, *, basic: bool = False) -> None:
    """Check the credential of a request that was admitted a while ago. Raises UNAUTHORIZED, FORBIDDEN."""
    principal = await quickly(services.database, services.registry.access.identify, _headers(scope, basic=basic))
    if principal is not None:
        _require(principal, role)


def _headers(scope: Any, *, basic: bool) -> Headers:
    """Return the headers of a request, with the password of HTTP Basic as its credential if that is wanted."""
    headers: Headers = with_password_as_credential(scope["headers"]) if basic else scope["headers"]
    return headers


def _require(principal: Principal, role: str) -> None:
    if not includes(principal.role, role):
        raise forbidden(f"This needs the role '{role}'; yours is '{principal.role}'")


def _refuse_narrowed(principal: Principal, operations: Collection[Operation]) -> None:
    """Refuse a token that is for other operations. Raises FORBIDDEN."""
    narrowing = principal.narrowing
    if narrowing is None or any(operation in operations for operation in narrowing.operations):
        return
    own = f"This token is for {' and '.join(narrowing.operations)} only"
    if not operations:
        raise forbidden(f"{own}, and no token of a user can do this: sign in with a user name and a password")
    raise forbidden(f"{own}: use one whose operations include '{sorted(operations)[0]}'")


async def _counted(services: Services, scope: Any, headers: Headers, role: str, rate: Rate) -> Principal:
    request, count = (headers, client_address(scope), role, rate), services.registry.access.count
    try:
        principal, quota = count(*request, only_cache=True)
    except NotCachedError:
        principal, quota = await quickly(services.database, count, *request)
    state = request_state(scope)
    state.response_headers = quota.headers()
    state.sender = principal
    if quota.is_exceeded:
        raise rate_limited("Too many requests in this minute", quota.reset_seconds)
    return principal


async def admits_reading(services: Services, scope: Any) -> bool:
    """Return whether a request may read what a `user` may read; the caller is counted, as at the guard."""
    if services.settings.profile == "local":
        return True
    try:
        await admit(services, scope, "user", "read")
    except (RegistryError, DatabaseError):
        return False
    return True


def principal_of(scope: Any) -> Principal:
    """Return who makes the request. Raises RuntimeError before the guard has admitted it."""
    principal = request_state(scope).principal
    if principal is None:
        raise RuntimeError("the request was not admitted")
    return principal


def client_address(scope: Any) -> str:
    """Return the address a request comes from, `-` where there is none."""
    return str(scope["client"][0]) if scope.get("client") else "-"


def connection_of(scope: Any) -> Connection:
    """Return the connection that a request came on."""
    client, server = ((str(end[0]), int(end[1])) if end else None for end in (scope.get("client"), scope.get("server")))
    return Connection(client, server, scope["http_version"])
