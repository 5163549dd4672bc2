"""The threads in which handlers run, in pools, so that slow work of one kind never delays work of another.

Every pool has a queue of its own. A request that finds it full gets 503 and `Retry-After` at once.
"""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

from registry.errors import service_unavailable

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_RETRY_SECONDS = 2


class ThreadPool:
    """Threads for one kind of work.

    Args:
        name: What the work is, for the message to callers who must wait.
        threads: How many run at a time.
        queue: How many may wait for a thread, an attribute too.
    """

    def __init__(self, name: str, *, threads: int, queue: int) -> None:
        self._name = name
        self._threads = threads
        self.queue = queue
        self._limiter: RunVar[CapacityLimiter] = RunVar(f"threads for {name}")

    async def run(
        self, function: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
    ) -> _Result:
        """Run a function in a thread of the pool and return its result. Raises SERVICE_UNAVAILABLE."""
        limiter = self._limiter.get(None) or self._new_limiter()
        if limiter.statistics().tasks_waiting >= self.queue:
            raise service_unavailable(f"Too many requests wait for {self._name}: try again later", _RETRY_SECONDS)
        return await to_thread.run_sync(functools.partial(function, *args, **kwargs), limiter=limiter)

    def _new_limiter(self) -> CapacityLimiter:
        """Return the limiter of this event loop. Several applications may run in one process, as tests do."""
        limiter = CapacityLimiter(self._threads)
        self._limiter.set(limiter)
        return limiter

    def handler(self, function: Callable[_Arguments, _Result]) -> Callable[_Arguments, Coroutine[Any, Any, _Result]]:
        """Make a plain function an asynchronous handler that runs in this pool."""

        @functools.wraps(function)
        async def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
            return await self.run(function, *args, **kwargs)

        return run


ORDINARY_POOL = ThreadPool("the catalog", threads=24, queue=500)
"""Reads and writes of the catalog."""

BATCH_POOL = ThreadPool("a batch of skills", threads=1, queue=20)
"""Batches, one after another, so that the requests of other callers get their turn between its transactions."""

QUICK_POOL = ThreadPool("the database", threads=16, queue=1_000)
"""Reads of a few rows before the handler of a request, where the database is a server."""

ADMINISTRATION_POOL = ThreadPool("administration", threads=8, queue=200)
"""Tokens, keys, users, status and metrics. They work whatever others do."""

OUTGOING_POOL = ThreadPool("other servers", threads=12, queue=48)
"""What waits for other servers: installing, upgrading, sources."""

PACKAGE_POOL = ThreadPool("the package store", threads=12, queue=100)
"""What reads packages from the store, which may be another server."""

FEED_POOL = ThreadPool("the change feed", threads=4, queue=1_000)
"""Pages of the change feed. A change wakes all that wait for one, at once."""
