"""Answers the most frequent searches of agents before the framework sees them.

A new search of a small catalog takes a few milliseconds. The framework needs up to a tenth of that to find handler,
parameters and response, because the model has evicted its code from the processor's caches. Any other request, and any
that is refused, goes to the framework's handler, which gives the same response or the reason.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from registry.db import DatabaseError
from registry.domain.api import API
from registry.errors import ClientGoneError, RegistryError
from registry.http.admission import admits_reading
from registry.http.compression import COMPRESSED_FROM_BYTES, LARGE_BYTES, compress, compress_large
from registry.http.envelope import CLIENT_GONE, HttpResponse, Ok, error_answer, send_answer
from registry.http.query_params import QueryRules
from registry.http.response_cache import LARGEST_BODY, replayed
from registry.http.routes.search import answered, resolved, search_body
from registry.http.search_turns import SearchTurns
from registry.parsing.strict_json import decode
from registry.services.container import Services
from registry.services.schemas import ResolveBody, ResolveData, SearchBody, SearchData
from registry.services.search import SearchTask, resolve_task, search_task

_JSON = ((b"content-type", b"application/json"),)
_ASKED_OF = frozenset({b"content-type", b"content-encoding", b"transfer-encoding"})

SEARCH, RESOLVE = f"{API}/search", f"{API}/resolve"
REGISTRY_SEARCH = "/api/search"
"""Another path of the search in the registry profile. The local profile redirects from there."""


class _Search(NamedTuple):
    """How the requests of a route are answered.

    `headers` are those that say what the body is, `read` decodes query string and body, and `task` makes the task that
    searches and answers.
    """

    headers: tuple[tuple[bytes, bytes], ...]
    read: Callable[[bytes, bytes], Any]
    task: Callable[[Any, Services, Any], SearchTask[Ok[Any]]]


class FastSearch:
    """Wraps the application over built services.

    Args:
        app: What answers all other requests.
        services: What searches.
        turns: Who searches next, and where.
        query: What `GET` declares of its query string.
    """

    def __init__(self, app: ASGIApp, services: Services, turns: SearchTurns, query: QueryRules) -> None:
        self._app = app
        self._services = services
        self._turns = turns
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
        answer = await self._answer(search, scope, first)
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

    async def _answer(self, search: _Search, scope: Any, message: Any) -> HttpResponse | None:
        services = self._services
        body = self._decoded(search, scope, message) if services.ready.is_set() else None
        if body is None or not await admits_reading(services, scope):
            return None
        try:
            task = search.task(scope, services, body).then(partial(_response, scope))
            return await _compressed(scope, await self._turns.run(scope, task))
        except RegistryError as error:
            return error_answer(error)
        except ClientGoneError:
            return HttpResponse(CLIENT_GONE, {}, b"")
        except DatabaseError:
            return None

    def _decoded(self, search: _Search, scope: Any, message: Any) -> Any:
        """Return the decoded request, None if it is not plain or not valid."""
        sent = message.get("body", b"")
        if message.get("more_body") or len(sent) > self._largest:
            return None
        try:
            return search.read(scope["query_string"], sent)
        except RegistryError:
            return None


def _body_of(kind: type) -> Callable[[bytes, bytes], Any]:
    def read(query: bytes, body: bytes) -> Any:
        return decode(body, kind) if body and not query else None

    return read


def _query_of(rules: QueryRules, query: bytes, body: bytes) -> SearchBody | None:
    values = None if body else rules.read(query)
    return None if values is None else search_body(values)


def _found(scope: Any, services: Services, body: SearchBody) -> SearchTask[Ok[SearchData]]:
    return search_task(services, body).then(partial(answered, scope, services))


def _resolved(scope: Any, services: Services, body: ResolveBody) -> SearchTask[Ok[ResolveData]]:
    return resolve_task(services, body).then(partial(resolved, scope))


def _response(scope: Any, outcome: Ok[Any]) -> HttpResponse:
    body = msgspec.json.encode(outcome)
    answer = HttpResponse(200, {"content-type": "application/json", "content-length": str(len(body))}, body)
    is_small = COMPRESSED_FROM_BYTES <= len(body) <= LARGE_BYTES
    return _with_body(answer, compress(body)) if is_small and _takes_gzip(scope) else answer


async def _compressed(scope: Any, answer: HttpResponse) -> HttpResponse:
    """Return a large response compressed, by threads other than those that search."""
    is_large = "content-encoding" not in answer.headers and len(answer.body) > LARGE_BYTES
    return _with_body(answer, await compress_large(answer.body)) if is_large and _takes_gzip(scope) else answer


def _with_body(answer: HttpResponse, compressed: bytes) -> HttpResponse:
    """Return a response with its compressed body."""
    sent = {"content-encoding": "gzip", "vary": "Accept-Encoding", "content-length": str(len(compressed))}
    return HttpResponse(answer.status, {**answer.headers, **sent}, compressed)


def _takes_gzip(scope: Any) -> bool:
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])
