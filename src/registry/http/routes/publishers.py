"""Trusted publishing: what workflows get a token with, and which of them administrators have registered."""

from typing import Any

import msgspec
from litestar import Request, Response, delete, get, post, put
from litestar.params import FromPath, JSONBody

from registry.auth.oidc.exchange import OidcTokenData, OidcTokenRequest
from registry.auth.oidc.publishers import NewTrustedPublisher, TrustedPublisher
from registry.domain.api import API
from registry.domain.roles import PUBLIC, Segment
from registry.domain.validation import convert
from registry.http.cursors import paged
from registry.http.envelope import Ok
from registry.http.routes.admin import Removed
from registry.http.routes.auth import NO_STORE, caller_of
from registry.http.routes.parameters import ERRORS, ListPage, RunningServices
from registry.http.thread_pools import ADMINISTRATION_POOL, OUTGOING_POOL

_OPTIONS: dict[str, Any] = {"tags": ["trusted publishing"], "responses": ERRORS, "role": "admin"}
_OPEN: dict[str, Any] = {"tags": ["trusted publishing"], "responses": ERRORS, "role": PUBLIC}


class Audience(msgspec.Struct, kw_only=True):
    """What an identity token must be for."""

    audience: str


@get("/oidc/audience", **_OPEN)
@ADMINISTRATION_POOL.handler
def get_audience(running: RunningServices) -> Ok[Audience]:
    """Return the audience of identity tokens that are exchanged here."""
    return Ok(Audience(audience=running.registry.oidc.audience))


@post(
    "/oidc/token",
    status_code=200,
    changes=False,
    fails={401, 429},
    security=[{}],
    **_OPEN,
)
@OUTGOING_POOL.handler
def exchange_identity_token(
    request: Request[Any, Any, Any], running: RunningServices, data: JSONBody[OidcTokenRequest]
) -> Response[Ok[OidcTokenData]]:
    """Exchange the identity token of a workflow for a token that publishes for 15 minutes."""
    return Response(Ok(running.registry.oidc.issue(data, caller_of(request))), headers=NO_STORE)


@get("/auth/publishers", **_OPTIONS)
@ADMINISTRATION_POOL.handler
def list_publishers(
    request: Request[Any, Any, Any], running: RunningServices, page: ListPage
) -> Response[Ok[list[TrustedPublisher]]]:
    """List the trusted publishers, by scope."""
    publishers, total = running.registry.access.publishers.list(page.limit, page.offset)
    return paged(request, running, publishers, total, page)


@post("/auth/publishers", **_OPTIONS)
@ADMINISTRATION_POOL.handler
def add_publisher(running: RunningServices, data: JSONBody[NewTrustedPublisher]) -> Response[Ok[TrustedPublisher]]:
    """Register a workflow that may publish to a scope without a secret."""
    publisher = running.registry.access.publishers.add(data)
    return Response(Ok(publisher), status_code=201, headers={"Location": f"{API}/auth/publishers/{publisher.id}"})


@delete("/auth/publishers/{publisher_id:str}", status_code=200, **_OPTIONS)
@ADMINISTRATION_POOL.handler
def remove_publisher(running: RunningServices, publisher_id: FromPath[str]) -> Ok[Removed]:
    """Remove a trusted publisher. The tokens it has got are revoked."""
    running.registry.access.publishers.remove(publisher_id)
    return Ok(Removed(id=publisher_id, message=f"Publisher '{publisher_id}' removed"))


class TrustedScope(msgspec.Struct, kw_only=True):
    """Whether only trusted publishers publish to a scope."""

    scope: str
    trusted_only: bool


class TrustedScopeChange(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that says who publishes to a scope."""

    trusted_only: bool


@get("/auth/trusted-scopes", **_OPTIONS)
@ADMINISTRATION_POOL.handler
def list_trusted_scopes(running: RunningServices) -> Ok[list[TrustedScope]]:
    """List the scopes that only trusted publishers publish to."""
    scopes = running.registry.access.publishers.trusted_scopes()
    return Ok([TrustedScope(scope=scope, trusted_only=True) for scope in scopes])


@put("/auth/trusted-scopes/{scope_name:str}", **_OPTIONS)
@ADMINISTRATION_POOL.handler
def change_trusted_scope(
    running: RunningServices, scope_name: FromPath[str], data: JSONBody[TrustedScopeChange]
) -> Ok[TrustedScope]:
    """Let only trusted publishers publish to a scope, or everybody whose role allows it."""
    scope: str = convert(scope_name, Segment, field="scope_name")
    running.registry.access.publishers.set_trusted_only(scope, only=data.trusted_only)
    return Ok(TrustedScope(scope=scope, trusted_only=data.trusted_only))


OIDC = [get_audience, exchange_identity_token]
PUBLISHERS = [list_publishers, add_publisher, remove_publisher, list_trusted_scopes, change_trusted_scope]
