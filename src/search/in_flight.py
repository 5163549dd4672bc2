"""Searches that somebody waits for, and how background work lets them go first."""

import threading
from types import TracebackType

_LONGEST_SECONDS = 0.03


class InFlight:
    """The searches under way in this process; a context manager round each of them. Safe to use from any thread.

    Threads share one interpreter, and machines have few cores: work that nobody waits for makes searches slow unless
    it waits for them between its steps.
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
        """Wait for a moment without a search; not longer than one takes, so that work goes on however many come."""
        with self._changed:
            self._changed.wait_for(lambda: not self._count, _LONGEST_SECONDS)
