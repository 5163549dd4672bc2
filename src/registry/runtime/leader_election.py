"""Leader election: one process of a catalog does the work that only one may do. When it ends, another takes over."""

import logging
from collections.abc import Callable

from registry.runtime.periodic_worker import PeriodicWorker

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
        self._worker = PeriodicWorker("lead", self._round, _log, longest=_INTERVAL_SECONDS)
        self.leads = False

    def start(self) -> None:
        """Take part in the election once, then periodically in a thread."""
        with self._worker.health.attempt():
            self._round()
        self._worker.start()

    def stop(self) -> None:
        """Leave the election. Work of the leader that is running is not stopped."""
        self._worker.stop()

    def _round(self) -> float:
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
        except Exception:
            self.leads = False
            self._on_demoted()
            raise
        return _INTERVAL_SECONDS
