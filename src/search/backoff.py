"""Exponential back-off for something that failed."""

import time

_FIRST_SECONDS = 1.0


class Backoff:
    """Says when a retry is due, at the latest `longest` seconds after a failure.

    `problem` is the reason of the last failure, None after a success.
    """

    def __init__(self, longest: float = 60.0) -> None:
        self._longest = longest
        self.problem: str | None = None
        self._pause = _FIRST_SECONDS
        self._due = 0.0

    def is_due(self) -> bool:
        """Return whether enough time has passed since the last failure."""
        return time.monotonic() >= self._due

    def seconds_left(self) -> float:
        """Return how many seconds remain until a retry is due."""
        return max(0.0, self._due - time.monotonic())

    def failed(self, problem: str) -> None:
        """Record a failure. Each pause is twice the one before, from 1 second to the longest."""
        self.problem = problem
        self._due = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, self._longest)

    def succeeded(self) -> None:
        """Reset after a success."""
        self.problem, self._pause, self._due = None, _FIRST_SECONDS, 0.0
