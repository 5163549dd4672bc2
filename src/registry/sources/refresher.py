"""Refreshes sources concurrently. A source that hangs or fails delays neither other sources nor the caller."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence

from registry.domain.source_entry import SourceEntry
from registry.outbound import OutboundError
from registry.runtime.periodic_worker import PeriodicWorker
from registry.sources.log_monitor import LogRefused
from registry.sources.marketplace import UnreadableDocument
from registry.sources.source_reader import SourceContents

_log = logging.getLogger("registry.sources")


class Stored:
    """The reader of a source has stored what it read."""


Outcome = SourceContents | Stored | str | None
"""The result of reading a source: its contents, an error message, or None if nothing has changed."""

ReadSource = Callable[[SourceEntry, str], SourceContents | Stored | None]
"""Reads a source, whose state had a mark when it was read last."""

StoreOutcome = Callable[[SourceEntry, str, Outcome], None]
"""Stores an outcome. Gets the source and the mark that it was read with."""


class Refresh:
    """A source that is being read. `done` is set when the outcome is stored."""

    def __init__(self, source: SourceEntry, mark: str) -> None:
        self.source = source
        self.mark = mark
        self.started_at = time.monotonic()
        self.done = threading.Event()


class Refresher:
    """Reads each source in a separate thread, and stores the outcomes one by one in another thread.

    A thread that hangs holds only a socket, until its time limit or the end of the process.
    """

    def __init__(self, read: ReadSource, store: StoreOutcome) -> None:
        self._read_source = read
        self._store = store
        self._running: dict[str, Refresh] = {}
        self._outcomes: queue.SimpleQueue[tuple[Refresh, Outcome] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._storing = PeriodicWorker("sources", self._store_next, _log)
        self._is_storing = False

    def refresh(self, sources: Sequence[tuple[SourceEntry, str]], wait_seconds: float) -> None:
        """Read sources, each with the mark of its known state, and wait for each at most `wait_seconds`.

        Slow sources continue in the background. A source that is being read is not read again.
        """
        for refresh in [self.start(source, mark) for source, mark in sources]:
            refresh.done.wait(max(0.0, refresh.started_at + wait_seconds - time.monotonic()))

    def start(self, source: SourceEntry, mark: str) -> Refresh:
        """Start to read a source, with the mark of its known state, unless it is being read already."""
        with self._lock:
            if (running := self._running.get(source.name)) is not None and running.source == source:
                return running
            if not self._is_storing:
                self._storing.start()
                self._is_storing = True
            refresh = Refresh(source, mark)
            threading.Thread(target=self._read, args=(refresh,), name=f"source {source.name}", daemon=True).start()
            self._running[source.name] = refresh
        return refresh

    def running_seconds(self, source: SourceEntry) -> float:
        """Return for how many seconds a source is being read, 0 if it is not."""
        with self._lock:
            running = self._running.get(source.name)
        return time.monotonic() - running.started_at if running else 0.0

    def _read(self, refresh: Refresh) -> None:
        outcome: Outcome
        try:
            outcome = self._read_source(refresh.source, refresh.mark)
        except (OutboundError, UnreadableDocument, LogRefused) as error:
            outcome = str(error)
        except OSError as error:
            outcome = f"the source cannot be read: {error.strerror or type(error).__name__}"
        except Exception:  # the caller waits for an outcome, whatever happens
            _log.exception("source %s cannot be read", refresh.source.name)
            outcome = "an unexpected error; see the log of the server"
        self._outcomes.put((refresh, outcome))

    def _store_next(self) -> float:
        """Wait for an outcome and store it. A source whose outcome cannot be stored is soon read again."""
        item = self._outcomes.get()
        if item is not None:
            refresh, outcome = item
            try:
                self._store(refresh.source, refresh.mark, outcome)
            finally:
                with self._lock:
                    if self._running.get(refresh.source.name) is refresh:
                        del self._running[refresh.source.name]
                refresh.done.set()
        return 0.0

    def stop(self) -> None:
        """Store no more outcomes. Sources that are being read are read again later."""
        self._storing.stop(0)
        self._outcomes.put(None)  # ends the wait
        self._storing.stop()
        with self._lock:
            waited_for = list(self._running.values())
        for refresh in waited_for:
            refresh.done.set()
