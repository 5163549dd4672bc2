"""What only one process of a catalog may do: it is done by the one that leads, and moves on when that one ends."""

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger("registry.runtime")

_ASK_EVERY_SECONDS = 3.0


class LeaderElection:
    """Asks every few seconds whether this process leads, and takes up or puts down what the leader does.

    Args:
        lead: Returns whether this process leads.
        take_up: Begins what the leader does. Where it raises, it is tried again at the next turn.
        put_down: Ends what the leader does, also what was begun only in part.
        look_after: What the leader does at every turn.
    """

    def __init__(
        self,
        lead: Callable[[], bool],
        take_up: Callable[[], None],
        put_down: Callable[[], None],
        look_after: Callable[[], None],
    ) -> None:
        self._lead = lead
        self._look_after = look_after
        self._take_up = take_up
        self._put_down = put_down
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.leads = False

    def start(self) -> None:
        """Take up the lead if it is to be had, and ask for it from now on."""
        self._turn()
        self._thread = threading.Thread(target=self._run, name="lead", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask no more; what was taken up goes on until its own end."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_ASK_EVERY_SECONDS):
            self._turn()

    def _turn(self) -> None:
        may = self._lead()
        try:
            if may and not self.leads:
                self._take_up()
                self.leads = True
            if may:
                self._look_after()
            elif self.leads:
                _log.warning("this process leads no more")
                self.leads = False
                self._put_down()
        except Exception:
            _log.exception("the lead could not be taken up or put down whole; it is tried again")
            self.leads = False
            self._put_down()
