"""The door of private scopes: `/scopes/NAME/…` is a registry of its own, which only its members see.

Every path below `/scopes/` needs a credential, whether there is such a scope or not. A caller who is no member
gets the answer of a path that no route has. The page and the sign-in are those of the service, below every name.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from registry.auth.basic_credentials import BASIC_CHALLENGE, with_password_as_credential
from registry.db import DatabaseError
from registry.domain.api import SCOPES_PATH
from registry.errors import RegistryError, unauthorized
from registry.http.base_path import serve_below
from registry.http.envelope import HttpResponse, as_registry_error, send_answer
from registry.http.quick_reads import quickly
from registry.http.request_state import request_state
from registry.services.container import Services

_PATH = re.compile(r"/scopes/([a-z0-9][a-z0-9_-]{0,63})(/.*)?", re.DOTALL)
_OF_SERVICE = re.compile(
    r"/(dashboard|registry|favicon\.ico|healthz|readyz)?|/(ui|skills|schema|auth|api/v1/auth|api/v1/private-scopes)(/.*)?",
    re.DOTALL,
)
"""What the service answers below every name: the page, its documentation, probes, sign-in and accounts."""

_STATUS = {"/api/status", "/api/v1/status"}
"""Who has no credential yet gets the status of the service: the command and the page read it before a sign-in."""

_CREDENTIALS = {b"authorization", b"x-api-key"}

_NO_CREDENTIAL = "What is below /scopes/ needs a credential: send 'Authorization: Bearer <token>' or 'x-api-key: <key>'"


class ScopeDoor:
    """Wraps the application of a service, and passes requests of members on to the applications of private scopes.

    Args:
        app: The application of the service.
        services: The services under it.
        app_of: Returns the application of a private scope that there is. Raises SERVICE_UNAVAILABLE.
        refused: Returns the response that refuses a request for a path, as the protocol of the path has it.
    """

    def __init__(
        self,
        app: ASGIApp,
        services: Services,
        app_of: Callable[[str], Awaitable[ASGIApp]],
        refused: Callable[[str, RegistryError], HttpResponse],
    ) -> None:
        self._app = app
        self._services = services
        self._app_of = app_of
        self._refused = refused
        self._scopes = services.private_scopes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        is_below = scope["type"] == ScopeType.HTTP and scope["path"].startswith(f"{SCOPES_PATH}/")
        match = _PATH.fullmatch(scope["path"]) if is_below else None
        if match is None:
            await self._app(scope, receive, send)
            return
        name, rest = match[1], match[2] or "/"
        prefix = f"{SCOPES_PATH}/{name}"
        inner: Any = {**scope}  # what the applications below add of their routes is not this request's
        is_anonymous = not any(header in _CREDENTIALS for header, _ in scope["headers"])
        if is_of_service(rest) or (is_anonymous and rest in _STATUS):
            await serve_below(self._app, prefix, inner, receive, send)
            return
        try:
            app = await self._app_of_member(name, scope)
        except (RegistryError, DatabaseError) as exception:
            error = as_registry_error(exception, "GET")
            if error is None:
                raise
            await send_answer(send, self._refused(scope["path"], _challenging(error, scope)))
            return
        if app is None:
            await self._app(scope, receive, send)
        else:
            await serve_below(app, prefix, inner, receive, send)

    async def _app_of_member(self, name: str, scope: Any) -> ASGIApp | None:
        """Return the application of a private scope; None unless the caller is a member of it.

        Raises UNAUTHORIZED, SERVICE_UNAVAILABLE, DatabaseError.
        """
        # The guards of the scope's application say which requests take a password of HTTP Basic.
        headers = with_password_as_credential(scope["headers"])
        if not await quickly(self._services.database, self._is_member, scope, headers, name):
            return None
        return await self._app_of(name)

    def _is_member(self, scope: Any, headers: Any, name: str) -> bool:
        principal = request_state(scope).sender = self._services.registry.access.identify(headers)
        if principal is None:
            raise unauthorized(_NO_CREDENTIAL)
        return self._scopes.acting(principal, name) is not None


def path_in_scope(path: str) -> str:
    """Return a path as the application of the private scope sees it that the path is below; others as they are."""
    match = _PATH.fullmatch(path)
    return path if match is None else match[2] or "/"


def is_of_service(path: str) -> bool:
    """Return whether a path is answered by the service itself, below the name of whatever scope."""
    return _OF_SERVICE.fullmatch(path) is not None


def _challenging(error: RegistryError, scope: Any) -> RegistryError:
    """Return the error of a refused request. git asks its user for a credential only if Basic is wanted."""
    agent = next((value for name, value in scope["headers"] if name == b"user-agent"), b"")
    if error.status == 401 and agent.startswith(b"git/"):
        error.headers["WWW-Authenticate"] = BASIC_CHALLENGE
    return error
