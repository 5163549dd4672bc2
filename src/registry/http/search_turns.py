"""Who searches next, and where: on the event loop while a search is alone, else in threads, in order of arrival.

A search alone is fastest on the event loop, because a change of threads costs more than it saves. Searches that come
together share all processors, and none of them, however long, keeps the event loop from other requests.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from registry.db import AWAY, Database, DatabaseUnavailable
from registry.errors import ClientGoneError, service_unavailable
from registry.http.request_state import request_state
from registry.http.thread_pools import ORDINARY_POOL
from registry.runtime.event_loop import database_file_allowed
from registry.services.search import SearchTask

_Found = TypeVar("_Found")

_RETRY_SECONDS = 1

_LOOKING = 4
"""How many searches on the event loop share one look for others that have arrived meanwhile, which takes 30 µs."""

_CALM = 16
"""How many searches in a row must have been alone before the next one runs on the event loop again."""


class SearchTurns:
    """Runs the searches of one event loop.

    Args:
        database: What the searches read. Only a file on this machine is read on the event loop.
        threads: How many search at a time, an attribute too.
        queue: How many more may wait for that.
    """

    def __init__(self, database: Database, threads: int, queue: int) -> None:
        self._database = database
        self.threads = threads
        self._most = threads + queue
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="search")
        self._pending = 0
        self._alone = 0
        self._together = 0
        self._is_looking = False

    async def run(self, scope: Any, task: SearchTask[_Found]) -> _Found:
        """Return what a search finds. Raises what it raises, SERVICE_UNAVAILABLE, ClientGoneError, DatabaseUnavailable.

        A search that waits for others takes no processor meanwhile, so it takes a thread of the catalog's.
        """
        if self._database.is_away:
            raise DatabaseUnavailable(AWAY)
        if await self._waits(task):
            return await ORDINARY_POOL.run(_unless_gone, scope, task.search)
        if self._is_looking:
            self._together = _CALM
        if self._database.is_local and not self._pending and not self._together:
            with database_file_allowed:
                result = task.at_once()
            if result is not None:
                self._alone += 1
                if self._alone % _LOOKING == 0:
                    await self._look_for_others()
                return result
        return await self._in_turn(scope, task)

    async def _waits(self, task: SearchTask[_Found]) -> bool:
        """Return whether a search waits for others. What a query excludes is looked up in the database for that."""
        if not self._database.is_local:
            return await ORDINARY_POOL.run(task.waits_for_others)
        with database_file_allowed:
            return task.waits_for_others()

    async def _look_for_others(self) -> None:
        """Let the event loop take up what has arrived during a search. Searches that have are not alone."""
        self._is_looking = True
        await asyncio.sleep(0)  # the requests that were read before
        await asyncio.sleep(0)  # those that have come since
        self._is_looking = False

    async def _in_turn(self, scope: Any, task: SearchTask[_Found]) -> _Found:
        if self._pending >= self._most:
            raise service_unavailable("Too many searches wait: try again later", _RETRY_SECONDS)
        self._pending += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, copy_context().run, _unless_gone, scope, task.search)
        finally:
            self._pending -= 1
            self._together = _CALM if self._pending else max(0, self._together - 1)

    def close(self) -> None:
        """Stop the threads. Searches that wait for one are cancelled."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _unless_gone(scope: Any, search: Callable[[], _Found]) -> _Found:
    """Search, unless the caller has disconnected while the request waited. Raises ClientGoneError."""
    if request_state(scope).is_gone():
        raise ClientGoneError
    return search()
