"""`HEAD` and `OPTIONS`, which follow from the other methods of a path: one layer answers them for every route.

The framework would need a handler of its own for each `HEAD`. Its `OPTIONS` knows only one of several routes that share
a path, and asks for a credential, which a browser's question before a request never has.
"""

from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from registry.http.request_state import request_state

_UNSERVED = "TRACE"
"""A method that no route has: the refusal, in its `Allow`, lists those that the path has."""

_LAST_BODY: Any = {"type": "http.response.body", "body": b"", "more_body": False}


class ImpliedMethods:
    """Wraps an ASGI application that answers 405 with `Allow` to methods it does not serve."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer `HEAD` and `OPTIONS`, and pass any other request to the application."""
        if scope["type"] != ScopeType.HTTP or scope["method"] not in ("HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
        elif scope["method"] == "HEAD":
            request_state(scope).is_head = True
            await self._ask("GET", scope, receive, _head_only(send))
        else:
            await self._ask(_UNSERVED, scope, receive, _refusal_as_answer(send))

    async def _ask(self, method: str, scope: Any, receive: Receive, send: Send) -> None:
        # A copy, because the server and the log still need the method that was sent.
        inner_scope: Any = {**scope, "method": method}
        try:
            await self._app(inner_scope, receive, send)
        finally:
            scope["path_template"] = inner_scope.get("path_template")


def _head_only(send: Send) -> Send:
    """Return a `send` that ends the response after its head. Whatever still reads the body is then cancelled."""

    async def send_head(message: Any) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send(_LAST_BODY)

    return send_head


def _refusal_as_answer(send: Send) -> Send:
    """Return a `send` that turns 405 into 204 with the same `Allow`. Other responses, such as 404, stay."""
    is_answer = False

    async def send_allowed(message: Any) -> None:
        nonlocal is_answer
        if message["type"] == "http.response.start" and message["status"] == 405:
            is_answer = True
            allow = [header for header in message["headers"] if header[0] == b"allow"]
            message = {**message, "status": 204, "headers": allow}
        elif is_answer:
            message = _LAST_BODY
        await send(message)

    return send_allowed
