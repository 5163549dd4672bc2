"""Counts that begin anew after a while. The library `limits` was tried: its store in memory starts a thread every 10 ms
while it counts, and that cost each request more than all the rest of the guard."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

_PRUNE_ABOVE = 10_000


class Added(NamedTuple):
    """What a window has counted here since others were told."""

    key: str
    made: int
    ends_at: float


class _Window:
    """A count until `ends_at`; `told` of it is known to others too."""

    __slots__ = ("count", "ends_at", "told")

    def __init__(self, ends_at: float) -> None:
        self.count = 0
        self.told = 0
        self.ends_at = ends_at


class FixedWindows:
    """Counts by key in fixed windows of time. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._windows: dict[str, _Window] = {}
        self._touched: set[str] = set()

    def incr(self, key: str, seconds: float) -> int:
        """Add one and return the count; a window of `seconds` begins with the first."""
        with self._lock:
            now = self._clock()
            if len(self._windows) > _PRUNE_ABOVE:
                self._windows = {name: window for name, window in self._windows.items() if window.ends_at > now}
                self._touched &= self._windows.keys()
            window = self._windows.get(key)
            if window is None or window.ends_at <= now:
                window = self._windows[key] = _Window(now + seconds)
            window.count += 1
            self._touched.add(key)
            return window.count

    def decr(self, key: str) -> None:
        """Take one back."""
        with self._lock:
            if (window := self._windows.get(key)) and window.count:
                window.count -= 1
                self._touched.add(key)

    def get(self, key: str) -> int:
        """Return the count of the window that is running, 0 where there is none."""
        window = self._windows.get(key)
        return window.count if window and window.ends_at > self._clock() else 0

    def get_expiry(self, key: str) -> float:
        """Return when the window ends, in seconds since 1970; now where there is none."""
        window = self._windows.get(key)
        return max(window.ends_at if window else 0.0, self._clock())

    def drain(self, above: Callable[[str], int]) -> Sequence[Added]:
        """Return what was counted in running windows since `learn`, of those that count more than `above(key)`."""
        with self._lock:
            now, touched, self._touched = self._clock(), self._touched, set()
            windows = {key: window for key in touched if (window := self._windows.get(key)) and window.ends_at > now}
            return [
                Added(key, window.count - window.told, window.ends_at)
                for key, window in windows.items()
                if window.count != window.told and window.count > above(key)
            ]

    def learn(self, added: Added, total: int, ends_at: float) -> None:
        """Take over what all have counted together, this process's `added` included, and until when."""
        with self._lock:
            window = self._windows.get(added.key)
            if window is not None and window.ends_at == added.ends_at:
                window.count += total - window.told - added.made
                window.told, window.ends_at = total, ends_at
