"""A circuit breaker: it suspends calls to a provider that keeps failing or asks for a pause."""

import threading
from collections.abc import Callable

from embeddings.base import EmbeddingError


class CircuitBreaker:
    """Rejects calls for `pause` seconds after `threshold` consecutive failures, then lets one trial call through.

    See M. Nygard, Release It! (2007). Safe to use from several threads at once.
    """

    def __init__(self, threshold: int, pause: float, clock: Callable[[], float]) -> None:
        self._threshold = threshold
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until = clock()

    def check(self) -> None:
        """Raise EmbeddingError while the breaker is open. A trial call keeps it open for all others."""
        with self._lock:
            wait = self._open_until - self._clock()
            if wait > 0:
                message = f"the embedding provider is not called for another {wait:.0f} s after failures"
                raise EmbeddingError(message, retry_after=wait)
            if self._failures >= self._threshold:
                self._open_until = self._clock() + self._pause

    def succeeded(self) -> None:
        """Record a successful call, which closes the breaker."""
        with self._lock:
            self._failures = 0
            self._open_until = self._clock()

    def failed(self, retry_after: float | None = None) -> None:
        """Record a failed call. `retry_after` is the pause in seconds that the provider requested."""
        with self._lock:
            self._failures += 1
            pause = self._pause if self._failures >= self._threshold else 0.0
            until = self._clock() + max(pause, retry_after or 0.0)
            self._open_until = max(self._open_until, until)
