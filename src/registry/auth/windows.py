"""Counts that begin anew after a while. The library `limits` was tried: its store in memory starts a thread every 10 ms
while it counts, and that cost each request more than all the rest of the guard."""

import threading
import time
from collections.abc import Callable

_PRUNE_ABOVE = 10_000


class Windows:
    """Counts by key in fixed windows of time. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[int, float]] = {}

    def incr(self, key: str, seconds: float) -> int:
        """Add one and return the count; a window of `seconds` begins with the first."""
        with self._lock:
            now = self._clock()
            if len(self._counts) > _PRUNE_ABOVE:
                self._counts = {name: window for name, window in self._counts.items() if window[1] > now}
            count, ends_at = self._counts.get(key, (0, 0.0))
            count, ends_at = (count + 1, ends_at) if ends_at > now else (1, now + seconds)
            self._counts[key] = (count, ends_at)
            return count

    def decr(self, key: str) -> None:
        """Take one back."""
        with self._lock:
            count, ends_at = self._counts.get(key, (0, 0.0))
            if count:
                self._counts[key] = (count - 1, ends_at)

    def get(self, key: str) -> int:
        """Return the count of the window that is running, 0 where there is none."""
        count, ends_at = self._counts.get(key, (0, 0.0))
        return count if ends_at > self._clock() else 0

    def get_expiry(self, key: str) -> float:
        """Return when the window ends, in seconds since 1970; now where there is none."""
        return max(self._counts.get(key, (0, 0.0))[1], self._clock())
