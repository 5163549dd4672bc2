"""Notices within two seconds that the database is away, and that it is back.

`/readyz` says so, and requests fail at once meanwhile: otherwise each would wait for a time-out, in a thread.
"""

import logging

from registry.db import Database, DatabaseError
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.services")

_EVERY_SECONDS = 0.5


def outage_watch(database: Database) -> PeriodicWorker:
    """Return the thread that keeps `database.is_away` current."""

    def look() -> float:
        try:
            database.ping()
        except DatabaseError as error:
            if not database.is_away:
                _log.error("the database is away: %s", error)
            database.is_away = True
        else:
            if database.is_away:
                _log.warning("the database is back")
            database.is_away = False
        return _EVERY_SECONDS

    return PeriodicWorker("outages", look, _log)
