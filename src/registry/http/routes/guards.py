"""Router-level guards: enforce what a handler declares (`role`, `rate`, `changes`) on routers that carry one.

A handler without a role needs `admin`. A handler without `changes` changes something unless its method only reads. A
token that is narrowed must be for one of a handler's `operations`: what only reads and is not for administrators is for
`read`, and anything else for none, unless the handler says so. A handler with `basic` also takes a credential as the
password of HTTP Basic; no other does, because browsers send such passwords by themselves.
"""

from collections.abc import Collection, Mapping
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import HTTPRouteHandler
from litestar.handlers.base import BaseRouteHandler

from registry.auth.connection_owner import OwnerUnknown, owner_at_once
from registry.auth.locality import why_not_local
from registry.auth.rate_limits import Rate
from registry.catalog.conditions import check_owner, check_scope
from registry.config.groups import ServerSettings
from registry.domain.api import API
from registry.domain.hosts import is_loopback_host
from registry.domain.roles import PUBLIC, Operation, Principal
from registry.errors import forbidden, not_found
from registry.http.admission import admit, client_address, connection_of
from registry.http.quick_reads import quickly
from registry.http.request_body import is_upload
from registry.http.request_id import request_id_of
from registry.http.thread_pools import ADMINISTRATION_POOL
from registry.services.container import Services

Connection = ASGIConnection[Any, Any, Any, Any]

_ACCOUNTS = ("/auth/", f"{API}/auth/", f"{API}/private-scopes")
"""Credentials and scopes belong to the service: a private scope has none of its own."""

_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def changes(method: str, handler: BaseRouteHandler) -> bool:
    """Return whether a request with this method to this handler may change anything."""
    return bool(handler.opt.get("changes", method not in _READING))


def may_change(handler: HTTPRouteHandler) -> bool:
    """Return whether some request to a handler may change anything."""
    return any(changes(method, handler) for method in handler.http_methods)


def operations_of(method: str, handler: BaseRouteHandler) -> Collection[Operation]:
    """Return the operations of which a narrowed token must have one; none if no such token may make the request."""
    only_reads = not changes(method, handler) and handler.opt.get("role", "admin") != "admin"
    operations: Collection[Operation] = handler.opt.get("operations", ("read",) if only_reads else ())
    return operations


def rate_of(connection: Connection, handler: BaseRouteHandler) -> Rate:
    """Return which rate limit of the caller a request counts against."""
    if is_upload(connection, handler):
        return "publish"
    scope: Any = connection.scope
    rate: Rate = handler.opt.get("rate") or ("write" if changes(scope["method"], handler) else "read")
    return rate


async def require_role(connection: Connection, handler: BaseRouteHandler) -> None:
    """Admit a request whose credential has the handler's role, and begin its audit entry."""
    role = handler.opt.get("role", "admin")
    scope: Any = connection.scope
    services: Services = connection.app.state.services
    if services.host is not None and scope["path_template"].startswith(_ACCOUNTS):
        raise not_found("Route")
    if role == PUBLIC:
        return
    principal = await admit(
        services,
        scope,
        role,
        rate_of(connection, handler),
        basic=handler.opt.get("basic", False),
        operations=operations_of(scope["method"], handler),
    )
    if changes(scope["method"], handler):
        _refuse_if_read_only(services)
        parameters = connection.path_params
        await quickly(services.database, _refuse_if_not_owner_of_path, services, principal, parameters, handler)
        services.registry.access.audit.begin(
            request_id=request_id_of(scope),
            actor=principal.name,
            role=principal.role,
            client=client_address(scope),
            action=f"{scope['method']} {scope['path_template']}",
            target=scope["raw_path"].decode("latin-1"),
            token_id=principal.token_id if principal.narrowing else None,
            each=handler.opt.get("audits_each", False),
        )


def _refuse_if_not_owner_of_path(
    services: Services, principal: Principal, parameters: Mapping[str, Any], handler: BaseRouteHandler
) -> None:
    """Refuse a change to the skill in the path, as `refuse_if_not_owner`.

    A handler whose `id` does not stand for a skill that it changes has `of_scope=False`.
    """
    if "skill_scope" in parameters:
        refuse_if_not_owner(services, principal, f"{parameters['skill_scope']}/{parameters['skill_name']}")
    elif "id" in parameters and handler.opt.get("of_scope", True):
        refuse_if_not_owner(services, principal, str(parameters["id"]))


def refuse_if_not_owner(services: Services, principal: Principal, skill_id: str) -> None:
    """Refuse a change to a published skill or a record from another scope, except by administrators.

    For a handler that learns the id from elsewhere than the path. Raises FORBIDDEN.
    """
    if "/" in skill_id:
        if services.is_published(skill_id):
            check_owner(principal, skill_id)
        return
    scope = services.catalog.record_scope(skill_id)
    if scope is not None:
        check_scope(principal, skill_id, scope)


def local_guards(server: ServerSettings) -> list[Any]:
    """Return the guards of the local profile, which has no authentication."""
    if server.read_only:
        return [refuse_changes]
    is_for_this_machine = is_loopback_host(server.host) and not server.allowed_hosts and not server.trusted_proxies
    return [refuse_other_machines] if is_for_this_machine else []


async def refuse_changes(connection: Connection, handler: BaseRouteHandler) -> None:
    """Refuse requests that may change something: the guard of a read-only local service."""
    scope: Any = connection.scope
    if changes(scope["method"], handler):
        _refuse_if_read_only(connection.app.state.services)


async def refuse_other_machines(connection: Connection, handler: BaseRouteHandler) -> None:
    """Refuse requests that may change something and may come from elsewhere: the guard of a local service on loopback.

    It has no authentication, so everybody whom a proxy on this machine lets through could change the skills.
    """
    scope: Any = connection.scope
    if changes(scope["method"], handler):
        await refuse_unknown_caller(connection)


async def check_local_change(connection: Connection, server: ServerSettings) -> None:
    """Refuse a change in the local profile as its guards do, for a handler that may also only read."""
    _refuse_if_read_only(connection.app.state.services)
    if refuse_other_machines in local_guards(server):
        await refuse_unknown_caller(connection)


async def refuse_unknown_caller(connection: Connection) -> None:
    """Refuse a request that may come from elsewhere than this machine."""
    reason = await why_elsewhere(connection)
    if reason is not None:
        raise forbidden(
            f"Only programs on this machine, of the user that runs the service, may change anything: {reason} "
            "(server.trusted_proxies or server.allowed_hosts lifts this, for a proxy with authentication)"
        )


async def why_elsewhere(connection: Connection) -> str | None:
    """Return why a request may come from elsewhere; None if a program of the same user on this machine has sent it."""
    scope: Any = connection.scope
    headers, ends = scope["headers"], connection_of(scope)
    try:
        return why_not_local(headers, ends, owner_at_once)
    except OwnerUnknown:
        return await ADMINISTRATION_POOL.run(why_not_local, headers, ends)


def _refuse_if_read_only(services: Services) -> None:
    if services.settings.server.read_only:
        raise forbidden("The service was started with --read-only: nothing can be changed")
