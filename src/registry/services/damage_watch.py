"""Looks for damaged pages and wrong counts of the database at the start and regularly, before a request meets them."""

import itertools
import logging

from registry.database.counts import correct
from registry.db import Database
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.services")

_EVERY_SECONDS = 3600.0

_DAMAGE_ROUNDS = 24
"""Every which round looks for damage, which reads the whole database."""


def damage_watch(database: Database) -> PeriodicWorker:
    """Return the thread that looks for damage, which turns `/readyz` to 503, and corrects counts."""
    rounds = itertools.count()

    def look() -> float:
        if next(rounds) % _DAMAGE_ROUNDS == 0:
            _look_for_damage(database)
        if not (database.is_damaged or database.is_read_only):
            _correct_counts(database)
        return _EVERY_SECONDS

    return PeriodicWorker("integrity", look, _log)


def _look_for_damage(database: Database) -> None:
    was_damaged = database.is_damaged
    database.look_for_damage()
    if database.is_damaged and not was_damaged:
        _log.error("the database is damaged: run 'skill-registry admin fsck', which names the tables and what to do")


def _correct_counts(database: Database) -> None:
    """Correct what replicas of an older release have written without counting it, during an upgrade."""
    if differences := correct(database):
        _log.warning("counts were wrong and are corrected: %s", "; ".join(differences))
