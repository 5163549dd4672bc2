"""Reading sources anew, all at once: one that hangs or fails keeps neither its like nor the caller waiting."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence

from registry.domain.source_entry import SourceEntry
from registry.outbound import OutboundError
from registry.sources.fetching import Fetcher, Read
from registry.sources.marketplace import UnreadableDocument

_log = logging.getLogger("registry.sources")

Outcome = Read | str | None
"""What reading a source gave: its skills, why it failed, or None where nothing has changed."""

Keep = Callable[[SourceEntry, str, Outcome], None]
"""Takes over an outcome, with the mark that was asked with."""


class Refresh:
    """One source being read. `done` is set when what it lists has been taken over."""

    def __init__(self, source: SourceEntry, mark: str) -> None:
        self.source = source
        self.mark = mark
        self.started_at = time.monotonic()
        self.done = threading.Event()


class Refreshing:
    """Reads each source in a thread of its own, and takes over the outcomes one after the other in another.

    So only that one uses the database, and a thread that hangs holds nothing but its socket, until its own time limit.
    """

    def __init__(self, fetcher: Fetcher, keep: Keep) -> None:
        self._fetcher = fetcher
        self._keep = keep
        self._running: dict[str, Refresh] = {}
        self._outcomes: queue.SimpleQueue[tuple[Refresh, Outcome] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._keeper: threading.Thread | None = None

    def refresh(self, sources: Sequence[tuple[SourceEntry, str]], wait_seconds: float) -> None:
        """Read sources, each with the mark of the state that is known, and wait for each as long as it may take.

        What is late goes on alone. A source that is being read already is not read twice.
        """
        for one in [self._start(source, mark) for source, mark in sources]:
            one.done.wait(max(0.0, one.started_at + wait_seconds - time.monotonic()))

    def _start(self, source: SourceEntry, mark: str) -> Refresh:
        with self._lock:
            if (running := self._running.get(source.name)) is not None and running.source == source:
                return running
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep_outcomes, name="sources", daemon=True)
                self._keeper.start()
            one = self._running[source.name] = Refresh(source, mark)
        threading.Thread(target=self._read, args=(one,), name=f"source {source.name}", daemon=True).start()
        return one

    def waited(self, source: SourceEntry) -> float:
        """Return for how many seconds a source has been being read; 0 where it is not."""
        with self._lock:
            running = self._running.get(source.name)
        return time.monotonic() - running.started_at if running else 0.0

    def _read(self, one: Refresh) -> None:
        outcome: Outcome
        try:
            outcome = self._fetcher.read(one.source, one.mark)
        except (OutboundError, UnreadableDocument) as error:
            outcome = str(error)
        except OSError as error:
            outcome = f"it cannot be read: {error.strerror or type(error).__name__}"
        except Exception:
            _log.exception("source %s cannot be read", one.source.name)
            outcome = "an unexpected fault; see the server's log"
        self._outcomes.put((one, outcome))

    def _keep_outcomes(self) -> None:
        while (arrived := self._outcomes.get()) is not None:
            one, outcome = arrived
            try:
                self._keep(one.source, one.mark, outcome)
            except Exception:
                _log.exception("what source %s lists cannot be kept", one.source.name)
            with self._lock:
                if self._running.get(one.source.name) is one:
                    del self._running[one.source.name]
            one.done.set()

    def stop(self) -> None:
        """Take over nothing more: what is still being read is read again another time."""
        with self._lock:
            keeper = self._keeper
        if keeper is not None:
            self._outcomes.put(None)
            keeper.join()
