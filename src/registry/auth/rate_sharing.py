"""Rate limit sync: replicas share their counts through the database.

A write for each request would cost more than most requests do. So each process writes its deltas twice a second, and
only for callers that have used part of their limit.
"""

import logging
import time

from registry.auth.fixed_windows import Delta
from registry.auth.rate_limits import RateLimiter
from registry.db import Database, DatabaseError, Transaction
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.auth")

_SYNC_SECONDS = 0.5
_PRUNE_SECONDS = 60.0
_ADD = (
    "insert into rate_windows (key, made, ends_at) values (?, ?, ?) on conflict (key) do update set"
    " made = case when rate_windows.ends_at > ? then rate_windows.made else 0 end + excluded.made,"
    " ends_at = case when rate_windows.ends_at > ? then rate_windows.ends_at else excluded.ends_at end"
    " returning made, ends_at"
)


class RateLimitSync:
    """Synchronizes a limiter with those of the other processes on the database, from a thread."""

    def __init__(self, database: Database, limiter: RateLimiter) -> None:
        self._database = database
        self._limiter = limiter
        self._worker = PeriodicWorker("rates", self._run_once, _log, (DatabaseError,))
        self._prune_at = 0.0

    def start(self) -> None:
        """Start the thread."""
        self._worker.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._worker.stop()

    def _run_once(self) -> float:
        self.sync()  # if it fails, each process keeps counting alone
        return _SYNC_SECONDS

    def sync(self) -> None:
        """Write the deltas of this process, and merge the totals of all processes."""
        deltas = self._limiter.drain()
        if not deltas:
            return
        with self._database.write() as transaction:
            totals = [_add(transaction, delta) for delta in deltas]
            if time.monotonic() >= self._prune_at:
                transaction.execute("delete from rate_windows where ends_at < ?", (time.time(),))
                self._prune_at = time.monotonic() + _PRUNE_SECONDS
        for delta, (total, ends_at) in zip(deltas, totals, strict=True):
            self._limiter.merge(delta, total, ends_at)


def _add(transaction: Transaction, delta: Delta) -> tuple[int, float]:
    now = time.time()
    total, ends_at = transaction.read(_ADD, (delta.key, delta.added, delta.ends_at, now, now))[0]
    return int(total), float(ends_at)
