"""One log line per request, and the headers of every response. The outermost layer of the application.

The line has: time, level, request_id, method, path, status, duration_ms, bytes, client. In a registry it also has
the caller whose credential was sent, as the audit log names it, and the id of the token if it is narrowed. The path is
logged as it was sent, percent-encoded, and without the query, which may contain secrets.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from registry import errors
from registry.domain.roles import Principal
from registry.http.envelope import error_answer, send_answer
from registry.http.request_id import request_id_of
from registry.http.request_state import request_state
from registry.http.response_headers import caching_headers, identifying_headers

_log = logging.getLogger("registry.http")


_ASSETS = "/ui/"
_FOUND = frozenset({200, 304})
"""Files of the page that were sent are logged at `debug`: one visit takes dozens of them."""


class RequestLog:
    """Wraps an ASGI application: gives each request an id, logs it, and turns unhandled exceptions into a response.

    `on_answer` is called with the scope, the status and the seconds of every request.
    """

    def __init__(self, app: ASGIApp, on_answer: Callable[[Any, int, float], None] | None = None) -> None:
        self._app = app
        self._on_answer = on_answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        answered = _Answered(scope, send)
        try:
            await self._app(scope, receive, answered.send)
        except Exception:
            _log.exception("request %s failed", answered.request_id)
            if answered.status:
                raise
            await send_answer(answered.send, error_answer(errors.internal_error(answered.request_id)))
        finally:
            request_state(scope).end()
            answered.log()
            if self._on_answer is not None:
                self._on_answer(scope, answered.status, answered.seconds())


class _Answered:
    """What is known about the response to one request."""

    __slots__ = ("_scope", "_send", "_size", "_started", "request_id", "status")

    def __init__(self, scope: Any, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._started = time.perf_counter()
        self._size = 0
        self.request_id = request_id_of(scope)
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [
                *message["headers"],
                *caching_headers(message["headers"]),
                *request_state(self._scope).response_headers,
                *identifying_headers(self._scope["path"], self.request_id),
            ]
        elif message["type"] == "http.response.body":
            self._size += len(message["body"])
        await self._send(message)

    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def log(self) -> None:
        scope = self._scope
        level = logging.DEBUG if scope["path"].startswith(_ASSETS) and self.status in _FOUND else logging.INFO
        if not _log.isEnabledFor(level):
            return
        path = scope["raw_path"].decode("latin-1")
        milliseconds = self.seconds() * 1000
        fields = request_fields(
            self.request_id, scope["method"], path, self.status, milliseconds, self._size, scope["client"]
        )
        log_request({**fields, **_caller(request_state(scope).sender)}, level)


def _caller(sender: Principal | None) -> dict[str, str | None]:
    """Return the fields that name the caller of a request, none without a credential."""
    if sender is None or sender.credential is None:
        return {}
    return {"caller": sender.name} | ({"token": sender.token_id} if sender.narrowing else {})


def request_fields(
    request_id: str,
    method: str,
    path: str,
    status: int,
    milliseconds: float,
    size: int,
    client: tuple[str, int] | None,
) -> dict[str, Any]:
    """Return what the log line of each request has. `size` is the size of the response body in bytes."""
    return {
        "request_id": request_id,
        "method": method,
        "path": path,
        "status": status,
        "duration_ms": round(milliseconds, 2),
        "bytes": size,
        "client": client[0] if client else "-",
    }


def log_request(fields: dict[str, Any], level: int = logging.INFO) -> None:
    """Write the log line of one request."""
    _log.log(level, "request", extra={"fields": fields})
