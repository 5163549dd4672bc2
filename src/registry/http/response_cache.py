"""Caches whole search responses: a search that is repeated while nothing has changed does not run again.

Agents repeat the same searches. A response that a handler marks with `keep` is cached under the request's bytes and the
catalog's revision, so it never outlives a change of a skill or of a vector.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, NamedTuple

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from registry.http.request_state import request_state
from search.lru_cache import LruCache

_CACHE_BYTES = 32 * 1024 * 1024
_ENTRY_BYTES = 4096
"""What an entry takes besides the bytes of its request and its response: the objects around them."""

LARGEST_BODY = 8192
"""Bytes of a request. Longer ones are rarely sent twice, and their search takes longer than what a hit saves."""

_LARGEST_ANSWER = 65_536
_KEPT_SECONDS = 3600.0  # well below the lifetime of the search id in a response
_VARIES = (b"accept-encoding", b"content-encoding", b"content-type", b"transfer-encoding", b"origin")

_Headers = tuple[tuple[bytes, bytes], ...]
Route = tuple[str, str]
"""A method and a path."""

_Key = tuple[Route, bytes, bytes, _Headers]
"""The route, query string, body and relevant headers of a request."""


class _Kept(NamedTuple):
    number: int
    until: float
    messages: Sequence[Any]


def _kept_bytes(key: _Key, entry: _Kept) -> int:
    _, query, body, headers = key
    sent = len(query) + len(body) + sum(len(name) + len(value) for name, value in headers)
    return _ENTRY_BYTES + sent + _body_bytes(entry.messages)


def _body_bytes(messages: Sequence[Any]) -> int:
    return sum(len(message["body"]) for message in messages if "body" in message)


def keep(scope: Any, number: int) -> None:
    """Allow the response to this request to be cached while the catalog is at revision `number`.

    One whose headers name ignored parameters is not cached, because those headers are added outside of the cache.
    """
    state = request_state(scope)
    if not state.ignored_query:
        state.valid_at = number


class ResponseCache:
    """Wraps an ASGI application.

    Args:
        app: What answers.
        routes: The routes whose responses are cached. Their paths have no parameters.
        number: Returns the catalog revision that searches see, or None.
        admits: Says whether a request may have a cached response. One that may not goes to the application, which
            gives the reason.
    """

    def __init__(
        self,
        app: ASGIApp,
        routes: Collection[Route],
        number: Callable[[], Awaitable[int | None]],
        admits: Callable[[HTTPScope], Awaitable[bool]],
    ) -> None:
        self._app = app
        self._routes = routes
        self._number = number
        self._admits = admits
        self._answers: LruCache[_Key, _Kept] = LruCache(_CACHE_BYTES, _kept_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from the cache, or pass the request to the application."""
        if scope["type"] == ScopeType.HTTP and (scope["method"], scope["path"]) in self._routes:
            await self._search(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _search(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        scope["path_template"] = scope["path"]  # which the router names, if it comes to that: figures are kept by it
        first = await receive()
        if first["type"] != "http.request" or first.get("more_body") or len(first["body"]) > LARGEST_BODY:
            await self._app(scope, replayed(first, receive), send)
            return
        varies = [header for header in scope["headers"] if header[0] in _VARIES]
        key = ((scope["method"], scope["path"]), scope["query_string"], first["body"], tuple(varies))
        entry = self._answers.get(key)
        if entry is not None and await self._may_send(entry, scope):
            for message in entry.messages:
                await send(message.copy())
            return
        await self._answer(key, scope, replayed(first, receive), send)

    async def _may_send(self, entry: _Kept, scope: HTTPScope) -> bool:
        is_fresh = time.monotonic() < entry.until and entry.number == await self._number()
        return is_fresh and await self._admits(scope)

    async def _answer(self, key: _Key, scope: HTTPScope, receive: Receive, send: Send) -> None:
        messages: list[Any] = []

        async def send_and_note(message: Any) -> None:
            messages.append(message.copy())
            await send(message)

        await self._app(scope, receive, send_and_note)
        number = request_state(scope).valid_at
        if number is not None and _body_bytes(messages) <= _LARGEST_ANSWER:
            self._answers.put(key, _Kept(number, time.monotonic() + _KEPT_SECONDS, tuple(messages)))


def replayed(first: Any, receive: Receive) -> Receive:
    """Return a `receive` that first returns the message that was read already."""
    pending = [first]

    async def replay() -> Any:
        return pending.pop() if pending else await receive()

    return replay
