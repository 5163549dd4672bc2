"""Wakes the background work of a process when something was committed, whichever process has done it."""

import logging
from collections.abc import Callable

from registry.db import Database, DatabaseError
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.runtime")

_WAIT_SECONDS = 0.25
"""How long a stop may have to wait."""

_REST_SECONDS = 0.1
"""Between one call and the next: what is committed meanwhile is told once."""

_REST_IN_OUTAGE_SECONDS = 1.0


class CommitListener:
    """Calls `look` soon after each commit, in a thread of its own.

    It is what makes things quick, not what makes them right: whoever works in the background also looks by itself now
    and then, and a search asks for the change number anyway. So `look` may raise DatabaseError, and is called again.
    """

    def __init__(self, database: Database, look: Callable[[], None]) -> None:
        self._database = database
        self._look = look
        self._thread = PeriodicWorker("waking", self._round)

    def start(self) -> None:
        """Call from now on, for the first time at once."""
        self._thread.start()

    def stop(self) -> None:
        """Call no more."""
        self._thread.stop()

    def _round(self) -> float:
        try:
            if not self._database.changed(_WAIT_SECONDS):
                return 0.0
            self._look()
        except DatabaseError:
            return _REST_IN_OUTAGE_SECONDS  # whoever needs the database says so
        except Exception:
            _log.exception("what others have committed could not be taken up; it is tried again")
        return _REST_SECONDS
