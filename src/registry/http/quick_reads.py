"""Reads of a few rows that a request needs before its handler: who the caller is, and the revision of the catalog.

They run on the event loop over a database file, of which they take some microseconds: a change of threads would cost as
much as a cached response. Over a database server they run in threads, because the server or the network may stall
(docs/decisions/2026-11-25-no-database-on-the-event-loop.md).
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from registry.db import AWAY, Database, DatabaseUnavailable
from registry.http.thread_pools import QUICK_POOL
from registry.runtime.event_loop import database_file_allowed

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


async def quickly(
    database: Database,
    function: Callable[_Arguments, _Result],
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> _Result:
    """Run a function that reads a few rows, and return its result. Raises DatabaseUnavailable, SERVICE_UNAVAILABLE."""
    if database.is_local:
        with database_file_allowed:
            return function(*args, **kwargs)
    if database.is_away:
        raise DatabaseUnavailable(AWAY)
    return await QUICK_POOL.run(function, *args, **kwargs)
