"""Looks for damaged pages of the database at the start and every day, before a request meets them."""

import logging

from registry.db import Database
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.services")

_EVERY_SECONDS = 24 * 3600.0


def damage_watch(database: Database) -> PeriodicWorker:
    """Return the thread that looks for damage. What it finds turns `/readyz` to 503."""

    def look() -> float:
        was_damaged = database.is_damaged
        database.look_for_damage()
        if database.is_damaged and not was_damaged:
            _log.error("the database is damaged: run 'skill-registry fsck', which names the tables and what to do")
        return _EVERY_SECONDS

    return PeriodicWorker("integrity", look, _log)
