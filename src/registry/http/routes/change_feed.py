"""The change feed of the published skills. A request may wait for the next change; it holds no thread meanwhile."""

import asyncio
import gzip
import time
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get
from litestar.params import QueryParameter

from registry.errors import ClientGoneError
from registry.http.compression import COMPRESSED_FROM_BYTES
from registry.http.conditional_requests import not_modified
from registry.http.envelope import Ok
from registry.http.request_state import request_state
from registry.http.routes.parameters import ERRORS, RunningServices
from registry.http.thread_pools import FEED_POOL
from registry.parsing.strict_json import MAX_INTEGER
from registry.publish.change_feed import ChangePage
from registry.runtime.change_signal import ChangeSignal

CHANGES = "/registry/index/changes"

_DEFAULT_CHANGES = 200
_MAX_CHANGES = 1_000
_MAX_WAIT_SECONDS = 30
_COMPRESSION = 1
"""The fastest level takes a third of the time of level 6 and gives a fifth more bytes."""

After = Annotated[
    int, QueryParameter(ge=0, le=MAX_INTEGER, description="The revision up to which the caller knows the changes")
]
Limit = Annotated[
    int, QueryParameter(ge=1, le=MAX_INTEGER, description=f"How many to answer; above {_MAX_CHANGES} counts as that")
]
Wait = Annotated[
    float, QueryParameter(ge=0, le=_MAX_WAIT_SECONDS, description="How many seconds to wait if there is no change yet")
]


@get(CHANGES, tags=["publish"], responses=ERRORS, role="user")
async def list_changes(
    request: Request[Any, Any, Any],
    running: RunningServices,
    after: After = 0,
    limit: Limit = _DEFAULT_CHANGES,
    wait: Wait = 0.0,
) -> Response[Ok[ChangePage]]:
    """List the changes of published skills after a revision, each skill once, in order."""
    feed = running.publishing.feed
    deadline = time.monotonic() + (0.0 if request_state(request.scope).is_head else wait)
    while True:
        change = feed.signal.next_change()
        page, state = await FEED_POOL.run(feed.page, after, min(limit, _MAX_CHANGES))
        answer = not_modified(request, Ok(page), f'"{state}"')
        has_news = bool(page.changes) and answer.status_code != 304
        if has_news or not await _has_changed(request, feed.signal, change, deadline):
            return await FEED_POOL.run(_encoded, request, answer)


async def _has_changed(
    request: Request[Any, Any, Any], signal: ChangeSignal, change: asyncio.Event, deadline: float
) -> bool:
    """Wait for a change until the deadline, and return whether there is one. Raises ClientGoneError."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        return False
    changed = asyncio.create_task(signal.wait(change, seconds))
    gone = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({changed, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not changed.done():
            raise ClientGoneError
        return changed.result()
    finally:
        changed.cancel()
        gone.cancel()


async def _disconnected(request: Request[Any, Any, Any]) -> None:
    """Return when the caller has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _encoded(request: Request[Any, Any, Any], answer: Response[Any]) -> Response[Any]:
    """Return the response as bytes. A page has megabytes: encoding it in the event loop would delay other requests."""
    if answer.status_code != 304:
        answer.content = msgspec.json.encode(answer.content)
        if len(answer.content) >= COMPRESSED_FROM_BYTES and "gzip" in request.headers.get("Accept-Encoding", ""):
            answer.content = gzip.compress(answer.content, _COMPRESSION, mtime=0)
            answer.headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return answer


CHANGE_FEED = [list_changes]
