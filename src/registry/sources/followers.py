"""Follows registries: a change of a registry that is a source is read within a second.

Each source of type `registry` has a thread with one request that waits at the registry until something changes there.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable

from registry.db import DatabaseError
from registry.domain.source_entry import SourceEntry
from registry.outbound import Interruption, OutboundError
from registry.runtime.periodic_worker import STOP_SECONDS, PeriodicWorker
from registry.sources.refresher import Refresh
from registry.sources.registry_reader import OpenRegistry
from registry.sources.store import SourceState, SourceStore, read_cursor
from search.backoff import Backoff

_log = logging.getLogger("registry.sources")

WAIT_SECONDS = 25
"""How long a request waits for a change. Proxies often end requests that take longer than 30 seconds."""

_SHORTEST_ROUND = 1.0
"""Seconds. A registry that does not make requests wait, or always has news, is not asked more often than this."""

_REST = 4
"""A follower rests this many times as long as the last reading took, so that no registry keeps a processor busy."""

_POLL_SECONDS = 0.2

StartRefresh = Callable[[SourceEntry], Refresh]
"""Starts to read a source. Its skills or its error are stored when the refresh is done."""


class Followers:
    """Keeps one follower for each registry among the sources, between `start` and `stop`."""

    def __init__(self, store: SourceStore, open_registry: OpenRegistry, refresh: StartRefresh) -> None:
        self._store = store
        self._open = open_registry
        self._refresh = refresh
        self._lock = threading.Lock()
        self._is_started = False
        self._followers: dict[SourceEntry, _Follower] = {}

    @property
    def is_started(self) -> bool:
        """Whether registries are followed now."""
        return self._is_started

    def start(self, sources: Iterable[SourceEntry]) -> None:
        """Begin to follow the registries among these sources."""
        self._is_started = True
        self.follow(sources)

    def follow(self, sources: Iterable[SourceEntry]) -> None:
        """Follow exactly the registries among these sources from now on. Does nothing before `start`."""
        registries = {source for source in sources if source.type == "registry"}
        with self._lock:
            if not self._is_started:
                return
            for source in self._followers.keys() - registries:
                self._followers.pop(source).end()
            for source in registries - self._followers.keys():
                follower = self._followers[source] = _Follower(source, self._store, self._open, self._refresh)
                follower.start()

    def stop(self) -> None:
        """Follow none, and wait for the threads to end, for a few seconds at most."""
        with self._lock:
            self._is_started = False
            followers, self._followers = self._followers, {}
        for follower in followers.values():
            follower.end()
        deadline = time.monotonic() + STOP_SECONDS
        for follower in followers.values():
            follower.join(max(0.0, deadline - time.monotonic()))


class _Follower:
    """Waits for changes of one registry, in a thread."""

    def __init__(
        self, source: SourceEntry, store: SourceStore, open_registry: OpenRegistry, refresh: StartRefresh
    ) -> None:
        self._worker = PeriodicWorker(f"follow {source.name}", self._round, _log, (DatabaseError,))
        self._outage = Backoff()
        self._source = source
        self._store = store
        self._open = open_registry
        self._refresh = refresh
        self._interruption = Interruption()

    def start(self) -> None:
        """Start the thread."""
        self._worker.start()

    def end(self) -> None:
        """End the waiting request, and the thread soon after it."""
        self._worker.stop(0)
        self._interruption.set()

    def join(self, seconds: float) -> None:
        """Wait for the end of the thread."""
        self._worker.stop(seconds)

    def _round(self) -> float:
        """Wait until something has changed and read it. Return the pause, which grows while there is a problem."""
        started = time.monotonic()
        before = self._store.state(self._source)
        if not self._has_news(before):
            self._outage.succeeded()
            return max(0.0, started + _SHORTEST_ROUND - time.monotonic())
        if self._worker.is_stopped:
            return 0.0
        reading_started = time.monotonic()
        refresh = self._refresh(self._source)
        while not self._worker.is_stopped and not refresh.done.wait(_POLL_SECONDS):
            pass
        rest = _REST * (time.monotonic() - reading_started)
        problem = self._problem(before)
        if problem is None:
            self._outage.succeeded()
        else:
            self._outage.failed(problem)
        return max(self._outage.seconds_left(), started + _SHORTEST_ROUND - time.monotonic(), rest)

    def _problem(self, before: SourceState) -> str | None:
        """Return what is wrong with the source now that it was read, compared with the state before."""
        after = self._store.state(self._source)
        if after.error is None and (before.error, before.mark) == (None, after.mark):
            return "the registry announces a change and lists none"
        return after.error

    def _has_news(self, state: SourceState) -> bool:
        """Wait for a change. A failure counts as news: the refresh that follows stores the error, or clears it."""
        cursor = read_cursor(state.mark)
        if state.error is not None or not cursor.is_whole:
            return True
        try:
            registry = self._open(self._source, self._interruption)
            page = registry.changes(cursor.after, wait=WAIT_SECONDS, limit=1)
        except OutboundError:
            return True
        return page is not None and (bool(page.changes) or page.catalog != cursor.catalog)
