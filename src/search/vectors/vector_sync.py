"""Keeps one vector index at the catalog's revision. Another process, which may be away, never holds up a search."""

import logging
import threading
from collections.abc import Callable

from search.thread_health import ThreadHealth, rest, started
from search.types import Documents
from search.vectors.base import VectorIndex, VectorsUnavailable

_log = logging.getLogger("search")

_VECTORS_PER_BATCH = 5000
_PATIENCE_SECONDS = 1.0


class VectorSync:
    """Applies the catalog's changes to one vector index.

    An index in this process is current after `sync`. One in another process gets a second; then a thread continues,
    until it has caught up, and calls `on_caught_up`. Meanwhile `check` raises VectorsUnavailable.
    """

    def __init__(self, documents: Documents, index: VectorIndex, on_caught_up: Callable[[], None]) -> None:
        self.index = index
        self._documents = documents
        self._on_caught_up = on_caught_up
        self._lock = threading.Lock()
        self._state = threading.Lock()
        self._is_running = self._is_late = False
        self._attempted = threading.Event()
        self._reached = -1
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._health = ThreadHealth("vector sync", _log, (VectorsUnavailable,), longest=10.0)

    def sync(self, revision: int) -> None:
        """Apply all changes up to `revision`. If another process needs more than a second, leave them to the thread."""
        if not self.index.is_remote:
            self._catch_up(revision)
        elif not self._is_running and not self._is_current(revision):
            self._attempted.clear()
            self._start()
            if self._is_running:
                self._attempted.wait(_PATIENCE_SECONDS)
            with self._state:
                self._is_late |= self._is_running

    def _is_current(self, revision: int) -> bool:
        """Return whether the index is known to have a revision, without a change."""
        try:
            if self.index.revision < revision:
                return False
        except VectorsUnavailable:  # the thread tells of it
            return False
        self._reached = max(self._reached, revision)
        return True

    def _catch_up(self, revision: int) -> None:
        # It stops at `revision`: under constant writes, a search would otherwise wait for every later change.
        index = self.index
        with self._lock:
            while index.revision < revision and not self._stopped.is_set():
                changes = self._documents.vector_changes(index.space, index.revision, _VECTORS_PER_BATCH)
                if not changes:
                    break
                index.apply(changes, changes[-1].revision)
            self._reached = max(self._reached, revision)

    def check(self, revision: int) -> None:
        """Raise VectorsUnavailable if the index has not reached a revision of the catalog."""
        if behind := self.behind(revision):
            raise VectorsUnavailable(f"the vectors lack the last changes, {behind} so far")

    def behind(self, revision: int) -> int:
        """Return how many changes up to a revision of the catalog the index lacks."""
        return max(0, revision - max(self._reached, 0))

    def follow(self) -> None:
        """Catch up in a thread, unless it runs: a search has failed, or changes are missing."""
        with self._state:
            self._is_late = True
        self._start()

    def _start(self) -> None:
        with self._state:
            if self._is_running or self._stopped.is_set() or not self._health.is_due():
                return
            self._is_running = True
            self._thread = started(self._follow, "follow-vectors", self._health)
            self._is_running = self._thread is not None

    def _follow(self) -> None:
        is_done = False
        while not is_done and not self._stopped.is_set():
            with self._health.attempt(self._stopped):
                self._catch_up(self._documents.revision())
                is_done = True
            if not is_done:
                self._attempted.set()
                rest(self._stopped, self._health.seconds_left())
        with self._state:
            is_late, self._is_running, self._is_late = self._is_late, False, False
        self._attempted.set()
        if is_late and not self._stopped.is_set():
            self._on_caught_up()

    def stop(self) -> None:
        """Stop the thread after its current batch."""
        self._stopped.set()
        if (thread := self._thread) is not None:
            thread.join()
