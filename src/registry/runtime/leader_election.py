"""Leader election: one process of a catalog does the work that only one may do. When it ends, another takes over."""

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger("registry.runtime")

_INTERVAL_SECONDS = 3.0


class LeaderElection:
    """Takes part in the election every few seconds, and starts or stops the work of the leader.

    Args:
        elect: Takes part in the election; returns whether this process is the leader.
        on_elected: Starts the work of the leader. If it raises, the next round tries again.
        on_demoted: Stops the work of the leader, also if it was started only in part.
        on_round: Called in every round while this process is the leader.
    """

    def __init__(
        self,
        elect: Callable[[], bool],
        on_elected: Callable[[], None],
        on_demoted: Callable[[], None],
        on_round: Callable[[], None],
    ) -> None:
        self._elect = elect
        self._on_elected = on_elected
        self._on_demoted = on_demoted
        self._on_round = on_round
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.leads = False

    def start(self) -> None:
        """Take part in the election once, then periodically in a thread."""
        self._run_once()
        self._thread = threading.Thread(target=self._run, name="lead", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the election. Work of the leader that is running is not stopped."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_INTERVAL_SECONDS):
            self._run_once()

    def _run_once(self) -> None:
        is_elected = self._elect()
        try:
            if is_elected and not self.leads:
                self._on_elected()
                self.leads = True
            if is_elected:
                self._on_round()
            elif self.leads:
                _log.warning("this process is no longer the leader")
                self.leads = False
                self._on_demoted()
        except Exception:  # the thread must survive any error, or this process would leave the election
            _log.exception("cannot start or stop the work of the leader; the next round tries again")
            self.leads = False
            self._on_demoted()
