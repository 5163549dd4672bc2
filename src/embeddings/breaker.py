"""A circuit breaker: a provider that keeps failing, or asks for a pause, is left alone for a while."""

import threading
from collections.abc import Callable

from embeddings.base import EmbeddingError


class Breaker:
    """Refuses calls for `pause` seconds after `threshold` failures in a row, then lets one through to try.

    The pattern is M. Nygard's (Release It!, 2007). Safe to use from several threads at once.
    """

    def __init__(self, threshold: int, pause: float, clock: Callable[[], float]) -> None:
        self._threshold = threshold
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._closed_from = clock()

    def check(self) -> None:
        """Raise EmbeddingError while calls are to be left out; a trial call keeps others out meanwhile."""
        with self._lock:
            wait = self._closed_from - self._clock()
            if wait > 0:
                message = f"the embedding provider is left alone for another {wait:.0f} s after failures"
                raise EmbeddingError(message, retry_after=wait)
            if self._failures >= self._threshold:
                self._closed_from = self._clock() + self._pause

    def succeeded(self) -> None:
        """Note a good answer: all is well again."""
        with self._lock:
            self._failures = 0
            self._closed_from = self._clock()

    def failed(self, retry_after: float | None = None) -> None:
        """Note a failure; `retry_after` is the pause in seconds that the provider itself asked for."""
        with self._lock:
            self._failures += 1
            pause = self._pause if self._failures >= self._threshold else 0.0
            until = self._clock() + max(pause, retry_after or 0.0)
            self._closed_from = max(self._closed_from, until)
