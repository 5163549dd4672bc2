"""Answers the most frequent searches of agents before the framework sees them.

A new search of a small catalog takes a few milliseconds. The framework needs up to a tenth of that to find handler,
parameters and response, because the model has evicted its code from the processor's caches. Any other request, and any
that is refused, goes to the framework's handler, which gives the same response or the reason.
"""

import gzip
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from registry.db import DatabaseError
from registry.domain.api import API
from registry.errors import RegistryError
from registry.http.admission import admits_reading
from registry.http.envelope import COMPRESSED_FROM_BYTES, HttpResponse, Ok, send_answer
from registry.http.query_params import QueryRules
from registry.http.response_cache import LARGEST_BODY, replayed
from registry.http.routes.search import answered, resolved, search_body
from registry.parsing.strict_json import decode
from registry.services.container import Services
from registry.services.schemas import ResolveBody, ResolveData, SearchBody, SearchData
from registry.services.search import resolve_without_waiting, search_without_waiting

_JSON = ((b"content-type", b"application/json"),)
_ASKED_OF = frozenset({b"content-type", b"content-encoding", b"transfer-encoding"})

SEARCH, RESOLVE = f"{API}/search", f"{API}/resolve"
REGISTRY_SEARCH = "/api/search"
"""Another path of the search in the registry profile. The local profile redirects from there."""


class _Search(NamedTuple):
    """How the requests of a route are answered.

    `headers` are those that say what the body is, `read` decodes query string and body, and `answer` searches, or
    returns None where that would have to wait.
    """

    headers: tuple[tuple[bytes, bytes], ...]
    read: Callable[[bytes, bytes], Any]
    answer: Callable[[Any, Services, Any], Ok[Any] | None]


class FastSearch:
    """Wraps the application over built services.

    Args:
        app: What answers all other requests.
        services: What searches.
        query: What `GET` declares of its query string.
    """

    def __init__(self, app: ASGIApp, services: Services, query: QueryRules) -> None:
        self._app = app
        self._services = services
        self._largest = min(LARGEST_BODY, services.settings.limits.json_body_bytes)
        posted = _Search(_JSON, _body_of(SearchBody), _found)
        self._searches = {
            ("GET", SEARCH): _Search((), lambda text, body: _query_of(query, text, body), _found),
            ("POST", SEARCH): posted,
            ("POST", RESOLVE): _Search(_JSON, _body_of(ResolveBody), _resolved),
        }
        if services.settings.profile == "registry":
            self._searches["POST", REGISTRY_SEARCH] = posted
        self.routes = frozenset(self._searches)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request to the application."""
        search = self._search_of(scope) if scope["type"] == ScopeType.HTTP else None
        if search is None:
            await self._app(scope, receive, send)
            return
        first = await receive()
        answer = self._answer(search, scope, first)
        if answer is None:
            await self._app(scope, replayed(first, receive), send)
        else:
            await send_answer(send, answer)

    def _search_of(self, scope: Any) -> _Search | None:
        """Return how a request is answered, None if it is not a search in its plain form."""
        search = self._searches.get((scope["method"], scope["path"]))
        if search is None or tuple(header for header in scope["headers"] if header[0] in _ASKED_OF) != search.headers:
            return None
        return search

    def _answer(self, search: _Search, scope: Any, message: Any) -> HttpResponse | None:
        services, sent = self._services, message.get("body", b"")
        if message.get("more_body") or len(sent) > self._largest or not services.ready.is_set():
            return None
        try:
            asked = search.read(scope["query_string"], sent)
            if asked is None or not admits_reading(services, scope):
                return None
            found = search.answer(scope, services, asked)
        except (RegistryError, DatabaseError):
            return None
        return None if found is None else _response(scope, found)


def _body_of(kind: type) -> Callable[[bytes, bytes], Any]:
    def read(query: bytes, body: bytes) -> Any:
        return decode(body, kind) if body and not query else None

    return read


def _query_of(rules: QueryRules, query: bytes, body: bytes) -> SearchBody | None:
    return None if body else search_body(rules.read(query))


def _found(scope: Any, services: Services, asked: SearchBody) -> Ok[SearchData] | None:
    found = search_without_waiting(services, asked)
    return None if found is None else answered(scope, services, found)


def _resolved(scope: Any, services: Services, asked: ResolveBody) -> Ok[ResolveData] | None:
    found = resolve_without_waiting(services, asked)
    return None if found is None else resolved(scope, found)


def _response(scope: Any, found: Ok[Any]) -> HttpResponse:
    body = msgspec.json.encode(found)
    headers = {"content-type": "application/json"}
    if len(body) >= COMPRESSED_FROM_BYTES and _takes_gzip(scope):
        body = gzip.compress(body, mtime=0)
        headers |= {"content-encoding": "gzip", "vary": "Accept-Encoding"}
    return HttpResponse(200, headers | {"content-length": str(len(body))}, body)


def _takes_gzip(scope: Any) -> bool:
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])
