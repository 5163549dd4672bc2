"""Rate limits that several processes keep together: each tells the database now and then what it has counted.

A write a request would cost more than most requests do. So what a caller has left is known to all within half a second,
and only of those who have used up some of it.
"""

import logging
import time

from registry.auth.fixed_windows import Added
from registry.auth.rate_limits import RateLimiter
from registry.db import Database, DatabaseError, Transaction
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.auth")

_SHARED_EVERY_SECONDS = 0.5
_FORGOTTEN_EVERY_SECONDS = 60.0
_ADD = (
    "insert into rate_windows values (?, ?, ?) on conflict (key) do update set"
    " made = case when rate_windows.ends_at > ? then rate_windows.made else 0 end + excluded.made,"
    " ends_at = case when rate_windows.ends_at > ? then rate_windows.ends_at else excluded.ends_at end"
    " returning made, ends_at"
)


class RateLimitSync:
    """Shares what a limiter counts with those of other processes on the database, in a thread of its own."""

    def __init__(self, database: Database, limiter: RateLimiter) -> None:
        self._database = database
        self._limiter = limiter
        self._thread = PeriodicWorker("rates", self._round)
        self._forget_at = 0.0

    def start(self) -> None:
        """Begin to share."""
        self._thread.start()

    def stop(self) -> None:
        """Share no more."""
        self._thread.stop()

    def _round(self) -> float:
        try:
            self.share()
        except DatabaseError:
            pass  # each process goes on counting alone; whoever needs the database says so
        except Exception:
            _log.exception("rate limits cannot be shared; it is tried again")
        return _SHARED_EVERY_SECONDS

    def share(self) -> None:
        """Tell what was counted here since the last time, and learn what others have."""
        added = self._limiter.drain()
        if not added:
            return
        with self._database.write() as transaction:
            totals = [_add(transaction, one) for one in added]
            if time.monotonic() >= self._forget_at:
                transaction.execute("delete from rate_windows where ends_at < ?", (time.time(),))
                self._forget_at = time.monotonic() + _FORGOTTEN_EVERY_SECONDS
        for one, (total, ends_at) in zip(added, totals, strict=True):
            self._limiter.learn(one, total, ends_at)


def _add(transaction: Transaction, one: Added) -> tuple[int, float]:
    now = time.time()
    total, ends_at = transaction.read(_ADD, (one.key, one.made, one.ends_at, now, now))[0]
    return int(total), float(ends_at)
