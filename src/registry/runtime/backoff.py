"""When to try again what failed: soon at first, then ever more rarely."""

import time

_FIRST_SECONDS = 1.0
_LONGEST_SECONDS = 60.0


class Backoff:
    """Says when something that failed is due again. `problem` says why it failed last, None where it did not."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self._pause = _FIRST_SECONDS
        self._due = 0.0

    def is_due(self) -> bool:
        """Return whether enough time has passed since the last failure."""
        return time.monotonic() >= self._due

    def failed(self, problem: str) -> None:
        """Note a failure: the pause after it is twice the one before, from 1 to 60 seconds."""
        self.problem = problem
        self._due = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _LONGEST_SECONDS)

    def succeeded(self) -> None:
        """Forget the failures before."""
        self.problem, self._pause, self._due = None, _FIRST_SECONDS, 0.0
