"""Notifies a process of commits by any process, so that its background work starts at once."""

import logging
from collections.abc import Callable

from registry.db import Database, DatabaseError
from registry.runtime.periodic_worker import PeriodicWorker

_log = logging.getLogger("registry.runtime")

_WAIT_SECONDS = 0.25
"""How long `stop` may take."""

_PAUSE_SECONDS = 0.1
"""The pause between two calls. Commits in between cause one call."""

_LONGEST_PAUSE_SECONDS = 2.0
"""The longest pause after an error: an outage of the database should not delay the work after it."""


class CommitListener:
    """Calls `on_commit` in a thread soon after each commit.

    Correctness does not depend on it: background workers also poll now and then, and a search reads the change number
    anyway. So `on_commit` may raise; the next commit calls it again.
    """

    def __init__(self, database: Database, on_commit: Callable[[], None]) -> None:
        self._database = database
        self._on_commit = on_commit
        self._worker = PeriodicWorker("commits", self._run_once, _log, (DatabaseError,), _LONGEST_PAUSE_SECONDS)

    def start(self) -> None:
        """Start the thread. It calls `on_commit` at once for the first time."""
        self._worker.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._worker.stop()

    def _run_once(self) -> float:
        if not self._database.changed(_WAIT_SECONDS):
            return 0.0
        self._on_commit()
        return _PAUSE_SECONDS
