"""Use cases of usage: uses are counted in memory, and written in batches by a thread. No request waits for a count.

A caller counts once a day for a skill and a way of using it. For that, a hash of the caller is kept in memory; nothing
of callers is written.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from registry.catalog.store import Catalog, Clock
from registry.catalog.uses import Use, UseKind, Uses, UsesOfDay, day_of
from registry.config.settings import Settings
from registry.db import Database, DatabaseError
from registry.errors import skill_not_found
from registry.runtime.periodic_worker import STOP_SECONDS, PeriodicWorker
from search.lru_cache import LruCache

BATCH_SECONDS = 5.0
"""How long a count waits in memory: what a killed process loses at most."""

MOST_WAITING = 10_000
"""The skills, by kind, whose counts wait in memory. Others are not counted until these are written."""

MOST_CALLERS = 100_000
"""The uses that are remembered, so that none of them counts twice on a day."""

SERVICE = "service"
"""The caller of what the service does itself: it installs for everybody that uses it."""

_READ_AGAIN_SECONDS = 600.0
"""How often the counts of other processes are read."""

_log = logging.getLogger("registry.services")


class UsageData(msgspec.Struct, kw_only=True):
    """The uses of a skill: their number in the last 30 days, and those of each day that had any, the last first."""

    skill_id: str
    uses_30d: int
    days: list[UsesOfDay]


class Usage:
    """Counts uses of skills. Safe to use from several threads.

    `recent` are the uses of the last 30 days by the keys of skills, and `version` grows when they change. Uses that
    other processes counted are among them ten minutes later.
    """

    def __init__(self, settings: Settings, database: Database, catalog: Catalog, clock: Clock) -> None:
        self.is_on = settings.server.count_uses and not settings.server.read_only and not database.is_read_only
        self.recent: Mapping[int, int] = {}
        self.version = 0
        self.told: Callable[[UseKind], None] = lambda kind: None
        self._catalog = catalog
        self._uses = Uses(database)
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: Counter[Use] = Counter()
        self._seen: LruCache[int, int] = LruCache(MOST_CALLERS)
        self._day = 0
        self._read_at = float("-inf")
        self._worker = PeriodicWorker("uses", self._round, _log, (DatabaseError,))

    def count(self, skill_id: str, kind: UseKind, caller: str) -> None:
        """Count a use, once a day for a caller. It never raises and never waits for the database."""
        self.told(kind)
        if not self.is_on:
            return
        use = Use(skill_id, kind, day_of(self._clock()))
        mark = hash((caller, use))
        with self._lock:
            if self._seen.get(mark) is None and (use in self._waiting or len(self._waiting) < MOST_WAITING):
                self._seen.put(mark, 1)
                self._waiting[use] += 1

    def start(self) -> None:
        """Start to write what is counted."""
        if self.is_on:
            self._worker.start()

    def stop(self) -> None:
        """Write what is counted, and stop."""
        self._worker.stop(STOP_SECONDS)
        try:
            self.flush()
        except DatabaseError as error:
            _log.warning("uses: the last counts are lost: %s", error)

    def flush(self) -> None:
        """Write what is counted. Raises DatabaseError; the counts then wait for the next attempt."""
        with self._lock:
            waiting, self._waiting = self._waiting, Counter()
        if not waiting:
            return
        try:
            added = self._uses.add(waiting)
        except DatabaseError:
            with self._lock:
                self._waiting.update(waiting)
            raise
        self._show(Counter(self.recent) + added)

    def of(self, skill_id: str) -> UsageData:
        """Return the uses of a skill, as they are in the database. Raises SKILL_NOT_FOUND."""
        key = self._catalog.keys([skill_id]).get(skill_id)
        if key is None:
            raise skill_not_found(skill_id)
        return UsageData(skill_id=skill_id, uses_30d=self.recent.get(key, 0), days=self._uses.days(key))

    def recent_of(self, skill_id: str) -> int:
        """Return the uses of a skill in the last 30 days."""
        return self.recent.get(self._catalog.keys([skill_id]).get(skill_id, 0), 0) if self.recent else 0

    def shown(self, key: int, card: bytes) -> bytes:
        """Return an encoded card with the uses of the last 30 days, if there are any."""
        uses = self.recent.get(key)
        return card if not uses else card[:-1] + b',"uses_30d":%d}' % uses

    def _round(self) -> float:
        self.flush()
        today = day_of(self._clock())
        if today != self._day:
            self._uses.forget_old(today)
        if today != self._day or time.monotonic() - self._read_at > _READ_AGAIN_SECONDS:
            self._show(self._uses.recent(today))
            self._day, self._read_at = today, time.monotonic()
        return BATCH_SECONDS

    def _show(self, recent: Counter[int]) -> None:
        if recent != self.recent:
            self.recent = recent
            self.version += 1
