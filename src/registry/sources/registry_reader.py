"""Reads sources of type `registry`: follows the change feed of a registry, page by page.

Each page is one transaction, so memory does not grow with the number of skills, and an interrupted reading continues
where it was. Before a reading changes anything, the log of the registry is checked. A reading ends, and the next one
continues it, if the feed does not: after a time, or after pages that change nothing.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from registry.domain.source_entry import SourceEntry
from registry.outbound import Interruption, OutboundError, StatusError, Validators
from registry.sources.followed_withdrawals import FollowedWithdrawals
from registry.sources.log_monitor import LogMonitor
from registry.sources.refresher import Stored
from registry.sources.registry_documents import ChangePage
from registry.sources.remote_registry import RemoteRegistry
from registry.sources.store import Cursor, ReadElsewhere, SourceStore, read_cursor

_STOP_SECONDS = 3.0

READING_SECONDS = 300.0
"""The time limit of one reading. 200,000 skills take a few minutes."""

IDLE_PAGES = 50
"""The maximum number of pages in a row that change nothing: 10,000 skills that were deleted long ago, for example."""

UNHURRIED_SECONDS = 60.0
"""After this time, a reading rests after each page as long as the page took, and leaves the processor to others."""

OpenRegistry = Callable[[SourceEntry, Interruption], RemoteRegistry]
"""Returns the registry behind a source, whose requests an interruption ends."""

Told = Callable[[SourceEntry, RemoteRegistry], None]
"""Hears of a registry that has just been read."""

IsKnown = Callable[[SourceEntry], bool]
"""Returns whether a source was neither removed nor changed."""


class RegistryReader:
    """Brings the skills of a registry up to date. Several sources can be read at once, each in a thread of its own."""

    def __init__(
        self,
        store: SourceStore,
        monitor: LogMonitor,
        withdrawals: FollowedWithdrawals,
        told: Told,
        open_registry: OpenRegistry,
        is_known: IsKnown,
    ) -> None:
        self._store = store
        self._monitor = monitor
        self._withdrawals = withdrawals
        self._told = told
        self._open = open_registry
        self._is_known = is_known
        self._running: set[Interruption] = set()
        self._changed = threading.Condition()
        self._is_stopped = False

    def read(self, source: SourceEntry, mark: str) -> Stored:
        """Take over what has changed since the state `mark`.

        Raises OutboundError; LogRefused if the log of the registry was rolled back or forked.
        """
        with self._interruptible() as interruption:
            registry = self._open(source, interruption)
            cursor, page = _begin(registry, read_cursor(mark))
            if page is None:
                self._store.unchanged(source, mark)
            else:
                if page.changes or not cursor.is_whole:
                    self._monitor.check(registry)
                self._take_over(source, mark, cursor, registry, page)
            self._withdrawals.update(registry)
            self._told(source, registry)
            return Stored()

    def _take_over(
        self, source: SourceEntry, mark: str, cursor: Cursor, registry: RemoteRegistry, page: ChangePage
    ) -> None:
        cursor = cursor if cursor.catalog else Cursor(catalog=page.catalog, reading=secrets.token_hex(4))
        pace = _Pace(registry.url)
        while self._is_known(source):
            try:
                cursor, mark, has_changed = self._store.apply_page(source, mark, cursor, page)
            except ReadElsewhere:
                return
            if page.is_complete:
                return
            self._rest(pace.after_page(has_changed))
            following = registry.changes(cursor.after)
            if following is None or following.catalog != cursor.catalog:
                raise OutboundError(f"{registry.url} has another catalog now; the next refresh reads all of it")
            page = following

    def _rest(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped, seconds)

    @contextmanager
    def _interruptible(self) -> Iterator[Interruption]:
        interruption = Interruption()
        with self._changed:
            if self._is_stopped:
                raise OutboundError("the service stops")
            self._running.add(interruption)
        try:
            yield interruption
        finally:
            with self._changed:
                self._running.discard(interruption)
                self._changed.notify_all()

    def stop(self) -> None:
        """End all readings. Later ones fail."""
        with self._changed:
            self._is_stopped = True
            for interruption in self._running:
                interruption.set()
            self._changed.wait_for(lambda: not self._running, _STOP_SECONDS)


class _Pace:
    """Bounds one reading of a feed, which may have no end."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._started = self._page_started = time.monotonic()
        self._idle_pages = 0

    def after_page(self, has_changed: bool) -> float:
        """Return for how many seconds to rest before the next page. Raises OutboundError at the end of the reading."""
        now = time.monotonic()
        took, elapsed = now - self._page_started, now - self._started
        self._idle_pages = 0 if has_changed else self._idle_pages + 1
        if self._idle_pages >= IDLE_PAGES:
            raise OutboundError(
                f"{self._url} lists more changes, but the last {IDLE_PAGES} pages changed nothing; "
                "the next refresh continues there"
            )
        if elapsed > READING_SECONDS:
            raise OutboundError(
                f"{self._url} lists more changes after {READING_SECONDS:.0f} s; the next refresh continues there"
            )
        rest = took if elapsed > UNHURRIED_SECONDS else 0.0
        self._page_started = now + rest
        return rest


def _begin(registry: RemoteRegistry, cursor: Cursor) -> tuple[Cursor, ChangePage | None]:
    """Return the changes since the cursor, None if there are none, and the cursor.

    If the registry does not have the state of the cursor, all is read again: it has another catalog, or an older state
    of the same one.
    """
    try:
        page = registry.changes(cursor.after, known=Validators(cursor.etag) if cursor.etag else None)
    except StatusError as error:
        if error.status != 400 or cursor.after == 0:
            raise
    else:
        if page is None or page.catalog == (cursor.catalog or page.catalog):
            return cursor, page
    return Cursor(), registry.changes(0)
