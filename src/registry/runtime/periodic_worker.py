"""Background work that runs in rounds in a thread."""

import logging
import threading
from collections.abc import Callable

from search.thread_health import ThreadHealth, rest

STOP_SECONDS = 3.0
"""How long a stop waits for the current step. A step that waits for a store or a remote takes longer."""


class PeriodicWorker:
    """Runs rounds of work until it is stopped. It can be started again.

    A round that raises does not end the thread: the next one follows after a back-off, and `health` tells of it.

    Args:
        name: The name of the thread.
        work: Runs one round and returns the seconds to pause after it.
        log: Gets the failures.
        expected: Errors of an outage, which are logged without a traceback.
        longest: The longest pause after a failure, in seconds.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], float],
        log: logging.Logger,
        expected: tuple[type[BaseException], ...] = (),
        longest: float = 60.0,
    ) -> None:
        self.health = ThreadHealth(name, log, expected, longest)
        self.health.is_active = False
        self._name = name
        self._work = work
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start the thread, after the last round of an earlier thread has ended."""
        if self._thread is not None:
            self._thread.join()
        self._stopped.clear()
        self.health.is_active = True
        thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        thread.start()
        self._thread = thread  # not before: a thread that cannot start cannot be waited for

    @property
    def is_stopped(self) -> bool:
        """Whether a stop was requested. A running round should end at its next step."""
        return self._stopped.is_set()

    def wake(self) -> None:
        """End the pause, since there is work."""
        self._wake.set()

    def pause(self, seconds: float) -> None:
        """Pause within a round. Only a stop ends the pause early."""
        self._stopped.wait(seconds)

    def stop(self, seconds: float | None = None) -> None:
        """Request a stop and wait for the end of the thread, at most `seconds` if given."""
        self._stopped.set()
        self._wake.set()
        self.health.is_active = False
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        while not self.is_stopped:
            self._wake.clear()
            pause = None
            with self.health.attempt(self._stopped):
                pause = self._work()
            if self.is_stopped:
                return
            rest(self._wake, self.health.seconds_left() if pause is None else pause)
