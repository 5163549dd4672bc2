"""Router-level guards: enforce what a handler declares (`role`, `rate`, `changes`) on routers that carry one.

A handler without a role needs `admin`. A handler without `changes` changes something unless its method only reads.
"""

from collections.abc import Mapping
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from registry.auth.rate_limits import Rate
from registry.domain.roles import PUBLIC, Principal
from registry.errors import forbidden
from registry.http.admission import admit, client_address
from registry.http.request_body import is_upload
from registry.http.request_id import request_id_of
from registry.publish.service import check_owner
from registry.services.container import Services

Connection = ASGIConnection[Any, Any, Any, Any]

_READING = frozenset({"GET", "HEAD", "OPTIONS"})


def changes(method: str, handler: BaseRouteHandler) -> bool:
    """Return whether a request with this method to this handler may change anything."""
    return bool(handler.opt.get("changes", method not in _READING))


def rate_of(connection: Connection, handler: BaseRouteHandler) -> Rate:
    """Return which rate limit of the caller a request counts against."""
    if is_upload(connection, handler):
        return "publish"
    rate: Rate = handler.opt.get("rate") or ("write" if changes(connection.scope["method"], handler) else "read")
    return rate


async def require_role(connection: Connection, handler: BaseRouteHandler) -> None:
    """Admit a request whose credential has the handler's role, and begin its audit entry."""
    role = handler.opt.get("role", "admin")
    if role == PUBLIC:
        return
    scope: Any = connection.scope
    services: Services = connection.app.state.services
    principal = admit(services, scope, role, rate_of(connection, handler))
    if changes(scope["method"], handler):
        _refuse_if_read_only(services)
        _refuse_if_not_owner(services, principal, connection.path_params)
        services.registry.access.audit.begin(
            request_id=request_id_of(scope),
            actor=principal.name,
            role=principal.role,
            client=client_address(scope),
            action=f"{scope['method']} {scope['path_template']}",
            target=scope["raw_path"].decode("latin-1"),
        )


def _refuse_if_not_owner(services: Services, principal: Principal, parameters: Mapping[str, Any]) -> None:
    """Refuse a change to a published skill from another scope, except by administrators."""
    if "skill_scope" in parameters:
        skill_id = f"{parameters['skill_scope']}/{parameters['skill_name']}"
        if services.is_published(skill_id):
            check_owner(principal, skill_id)


async def refuse_changes(connection: Connection, handler: BaseRouteHandler) -> None:
    """Refuse requests that may change something: the guard of a read-only local service."""
    scope: Any = connection.scope
    if changes(scope["method"], handler):
        _refuse_if_read_only(connection.app.state.services)


def _refuse_if_read_only(services: Services) -> None:
    if services.settings.server.read_only:
        raise forbidden("The service was started with --read-only: nothing can be changed")
