"""Keeps one vector index at the catalog's revision. Another process, which may be away, never holds up a search."""

import logging
import threading
import time
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
        self._reached = -1
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._health = ThreadHealth("vector sync", _log, (VectorsUnavailable,), longest=10.0)

    def sync(self, revision: int) -> None:
        """Apply all changes up to `revision`, or leave them to the thread."""
        if not self.index.is_remote:
            self._catch_up(revision, None)
        elif self._thread is None:
            try:
                self._catch_up(revision, time.monotonic() + _PATIENCE_SECONDS)
            except VectorsUnavailable as error:
                _log.warning("the vectors are behind: %s", error)
            if self._reached < revision:
                self.follow()

    def _catch_up(self, revision: int, deadline: float | None) -> None:
        # It stops at `revision`: under constant writes, a search would otherwise wait for every later change.
        index = self.index
        with self._lock:
            while index.revision < revision and not self._stopped.is_set():
                if deadline is not None and time.monotonic() > deadline:
                    return
                changes = self._documents.vector_changes(index.space, index.revision, _VECTORS_PER_BATCH)
                if not changes:
                    break
                index.apply(changes, changes[-1].revision)
            self._reached = max(self._reached, revision)

    def check(self, revision: int) -> None:
        """Raise VectorsUnavailable if the index has not reached a revision of the catalog."""
        if behind := self.behind(revision):
            raise VectorsUnavailable(f"the vectors are {behind} changes behind")

    def behind(self, revision: int) -> int:
        """Return how many changes up to a revision of the catalog the index lacks."""
        return max(0, revision - max(self._reached, 0))

    def follow(self) -> None:
        """Catch up in a thread, unless it runs: a search has failed, or changes are missing."""
        if self._thread is None and not self._stopped.is_set() and self._health.is_due():
            self._thread = started(self._follow, "follow-vectors", self._health)

    def _follow(self) -> None:
        is_done = False
        while not is_done and not self._stopped.is_set():
            with self._health.attempt(self._stopped):
                self._catch_up(self._documents.revision(), None)
                is_done = True
            if not is_done:
                rest(self._stopped, self._health.seconds_left())
        self._thread = None
        if not self._stopped.is_set():
            self._on_caught_up()

    def stop(self) -> None:
        """Stop the thread after its current batch."""
        self._stopped.set()
        if (thread := self._thread) is not None:
            thread.join()
