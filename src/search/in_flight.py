"""In-flight searches, to which background work yields."""

import threading
from types import TracebackType

_MAX_WAIT_SECONDS = 0.03


class InFlight:
    """Counts the searches in flight in this process: a context manager around each one. Safe to use from any thread.

    Threads share one interpreter and few cores. Background work would slow searches down if it did not yield to them
    between its steps.
    """

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self._count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._count -= 1
            if not self._count:
                self._changed.notify_all()

    def yield_to_foreground(self) -> None:
        """Wait until no search is in flight, at most 30 ms, so that background work never starves."""
        with self._changed:
            self._changed.wait_for(lambda: not self._count, _MAX_WAIT_SECONDS)
