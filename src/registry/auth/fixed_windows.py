"""Counters in fixed time windows.

The library `limits` was tried. Its in-memory store starts a thread every 10 ms while it counts, which cost each request
more than the rest of the guard.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from registry.auth.shared_counts import SharedCounts

_PRUNE_ABOVE = 10_000
_PRUNE_SECONDS = 1.0


class Delta(NamedTuple):
    """How much this process added to one window since the last merge. `ends_at` is in seconds since 1970."""

    key: str
    added: int
    ends_at: float


class _Window:
    """A count until `ends_at`, in seconds since 1970. The other processes know `shared` of it.

    With a `slot`, the count is in the table that the workers share.
    """

    __slots__ = ("count", "ends_at", "shared", "slot")

    def __init__(self, ends_at: float, slot: int | None = None) -> None:
        self.count = 0
        self.shared = 0
        self.ends_at = ends_at
        self.slot = slot


class FixedWindows:
    """Counts by key in fixed time windows. Safe to use from several threads.

    With a table, the counts are those of all workers that share it.
    """

    def __init__(self, clock: Callable[[], float] = time.time, table: SharedCounts | None = None) -> None:
        self._clock = clock
        self._table = table
        self._lock = threading.Lock()
        self._windows: dict[str, _Window] = {}
        self._touched: set[str] = set()
        self._prune_at = 0.0

    def incr(self, key: str, seconds: float) -> int:
        """Add one and return the count. The first increment starts a window of `seconds`."""
        with self._lock:
            now = self._clock()
            self._prune(now)
            window = self._windows.get(key)
            if window is None or window.ends_at <= now:
                window = self._windows[key] = self._window(key, now, seconds)
            self._touched.add(key)
            return self._add(window, 1)

    def _prune(self, now: float) -> None:
        if len(self._windows) > _PRUNE_ABOVE and now >= self._prune_at:
            self._windows = {name: window for name, window in self._windows.items() if window.ends_at > now}
            self._touched &= self._windows.keys()
            self._prune_at = now + _PRUNE_SECONDS

    def _window(self, key: str, now: float, seconds: float) -> _Window:
        """Return a new window, or that of the other workers."""
        if self._table is None or (slot := self._table.open(key, now, now + seconds)) is None:
            return _Window(now + seconds)
        return _Window(self._table.ends_at(slot), slot)

    def _add(self, window: _Window, number: int) -> int:
        if self._table is None or window.slot is None:
            window.count += number
        else:
            window.count = self._table.add(window.slot, number)
        return window.count

    def decr(self, key: str) -> None:
        """Subtract one, if the window has a count."""
        with self._lock:
            if (window := self._windows.get(key)) and window.count:
                self._add(window, -1)
                self._touched.add(key)

    def get(self, key: str) -> int:
        """Return the count of the current window, 0 without one."""
        with self._lock:
            now = self._clock()
            window = self._windows.get(key)
            if window is not None and window.ends_at > now:
                return self._add(window, 0)
            slot = self._table.find(key, now) if self._table else None
            return self._table.add(slot, 0) if self._table and slot is not None else 0

    def get_expiry(self, key: str) -> float:
        """Return when the current window ends, in seconds since 1970; now without one."""
        window = self._windows.get(key)
        return max(window.ends_at if window else 0.0, self._clock())

    def drain(self, threshold: Callable[[str], int]) -> Sequence[Delta]:
        """Return the deltas since the last `merge` of current windows whose count is above `threshold(key)`."""
        with self._lock:
            now, touched, self._touched = self._clock(), self._touched, set()
            windows = {key: window for key in touched if (window := self._windows.get(key)) and window.ends_at > now}
            return [
                Delta(key, window.count - window.shared, window.ends_at)
                for key, window in windows.items()
                if window.count != window.shared and window.count > threshold(key)
            ]

    def merge(self, delta: Delta, total: int, ends_at: float) -> None:
        """Merge the total and the end of a window over all processes. The total includes this process's `delta`."""
        with self._lock:
            window = self._windows.get(delta.key)
            if window is not None and window.ends_at == delta.ends_at:
                window.count += total - window.shared - delta.added
                window.shared, window.ends_at = total, ends_at
