"""Work that goes on in a thread of its own, round after round."""

import threading
from collections.abc import Callable

STOP_SECONDS = 3.0
"""How long a stop waits for a step that is under way. A step that waits for a store or a remote takes longer."""


class PeriodicWorker:
    """Does rounds of work until it is stopped, and may be started again afterwards.

    Args:
        name: The name of the thread.
        work: Does one round and returns the seconds to pause after it, unless it is woken. It raises nothing.
    """

    def __init__(self, name: str, work: Callable[[], float]) -> None:
        self._name = name
        self._work = work
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def start(self) -> None:
        """Begin with a round; one that was under way when it was stopped ends first."""
        if self._thread is not None:
            self._thread.join()
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    @property
    def is_stopped(self) -> bool:
        """Whether a stop was asked for: a round that is under way ends at its next step."""
        return self._stopped.is_set()

    def wake(self) -> None:
        """Say that there is something to do."""
        self._wake.set()

    def rest(self, seconds: float) -> None:
        """Pause in a round: only a stop ends it sooner."""
        self._stopped.wait(seconds)

    def stop(self, seconds: float | None = None) -> None:
        """Ask for an end, and wait for it, at most `seconds` where they are given."""
        self._stopped.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        while not self.is_stopped:
            self._wake.clear()
            pause = self._work()
            if self.is_stopped:
                return
            self._wake.wait(pause)
