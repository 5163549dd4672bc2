"""Answers the most frequent searches of agents before the framework sees them.

A new search of a small catalog takes a few milliseconds. The framework needs up to a tenth of that to find handler,
parameters and response, because the model has evicted its code from the processor's caches. Any other request, and any
that is refused, goes to the framework's handler, which gives the same response or the reason.
"""

import gzip
from typing import Any

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from registry.db import DatabaseError
from registry.errors import RegistryError
from registry.http.admission import admits_reading
from registry.http.envelope import COMPRESSED_FROM_BYTES, HttpResponse, send_answer
from registry.http.response_cache import LARGEST_BODY, PATH, replayed
from registry.http.routes.search import answered
from registry.parsing.strict_json import decode
from registry.services.container import Services
from registry.services.schemas import SearchBody
from registry.services.search import search_without_waiting

_PLAIN = ((b"content-type", b"application/json"),)
_ASKED_OF = frozenset({b"content-type", b"content-encoding", b"transfer-encoding"})


class FastSearch:
    """Wraps the application over built services."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services
        self._largest = min(LARGEST_BODY, services.settings.limits.json_body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request to the application."""
        if scope["type"] != ScopeType.HTTP or not _is_plain(scope):
            await self._app(scope, receive, send)
            return
        first = await receive()
        answer = self._answer(scope, first)
        if answer is None:
            await self._app(scope, replayed(first, receive), send)
        else:
            await send_answer(send, answer)

    def _answer(self, scope: Any, message: Any) -> HttpResponse | None:
        services, sent = self._services, message.get("body", b"")
        if message.get("more_body") or not 0 < len(sent) <= self._largest or not services.ready.is_set():
            return None
        try:
            asked = decode(sent, SearchBody)
            found = search_without_waiting(services, asked) if admits_reading(services, scope) else None
        except (RegistryError, DatabaseError):
            return None
        if found is None:
            return None
        body = msgspec.json.encode(answered(scope, services, found))
        headers = {"content-type": "application/json"}
        if len(body) >= COMPRESSED_FROM_BYTES and _takes_gzip(scope):
            body = gzip.compress(body, mtime=0)
            headers |= {"content-encoding": "gzip", "vary": "Accept-Encoding"}
        return HttpResponse(200, headers | {"content-length": str(len(body))}, body)


def _is_plain(scope: Any) -> bool:
    """Return whether this is a POST of plain JSON to the search route."""
    if scope["path"] != PATH or scope["method"] != "POST" or scope["query_string"]:
        return False
    return tuple(header for header in scope["headers"] if header[0] in _ASKED_OF) == _PLAIN


def _takes_gzip(scope: Any) -> bool:
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])
