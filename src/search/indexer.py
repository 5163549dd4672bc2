"""The embedding loop: what has no current vector gets one. There is no queue, only a question to the catalog."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from embeddings.base import Embedder, EmbeddingError, Matrix
from search.types import Documents, Embedded, Stale

_log = logging.getLogger("search")

BATCH = 256
"""Documents read at a time: enough to sort by length, little enough to be stored within seconds."""

_POLL_SECONDS = 2.0
_BACKOFF_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)


class Totals(msgspec.Struct):
    """What the indexer has done since it was made: monotone counts, the time embedding took, and the last error."""

    embedded: int = 0
    seconds: float = 0.0
    failures: int = 0
    last_error: str | None = None


class Indexer:
    """A thread that embeds what is stale in the embedder's space until nothing is, and then waits to be woken.

    A provider's failure is waited out with a growing pause; a text that the provider refuses for good is left out
    until it changes or `retry_refused` is called. What another process has claimed is left to it, and looked for again
    later. `on_stored` is called after each batch, `on_complete` whenever nothing is left to claim.
    """

    def __init__(
        self,
        documents: Documents,
        embedder: Embedder,
        space: str,
        on_stored: Callable[[], object],
        on_complete: Callable[[], None],
    ) -> None:
        self._documents, self._embedder, self._space = documents, embedder, space
        self._on_stored = on_stored
        self._on_complete = on_complete
        self.rate: float | None = None
        """How many texts are embedded in a second at most."""
        self.yield_to_foreground: Callable[[], None] = lambda: None
        """Called before each text that is embedded on this machine: it waits for who should go first."""
        self._refused: dict[int, tuple[str, str]] = {}
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._changed = threading.Condition()
        self._failures = 0
        self._awake = self._everything = True
        self._settled_at = 0
        self.totals = Totals()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to embed, until stopped."""
        self._everything = True
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name="indexer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the batch in hand and wait for that."""
        self._stopped.set()
        self.wake()
        if self._thread is not None:
            self._thread.join()

    def wake(self) -> None:
        """Say that something may have become stale."""
        self._awake = True
        self._wake.set()

    def look(self) -> None:
        """Say that there may be a change that this process has not made."""
        self._wake.set()

    def retry_refused(self) -> None:
        """Try the texts again that the provider refused."""
        self._refused.clear()
        self._everything = True

    def refused(self) -> dict[int, str]:
        """Return why each document that is left out was refused."""
        return {key: why for key, (_, why) in self._refused.items()}

    def complete_up_to(self) -> int:
        """Return a change number up to which nothing is left to embed; 0 where none is known."""
        return 0 if self._everything or self._refused else self._settled_at

    def wait_for_progress(self, seconds: float) -> None:
        """Return when a batch has ended, in success or failure, or after `seconds`."""
        with self._changed:
            self._changed.wait(seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            try:
                progressed = self._round()
            except EmbeddingError as error:
                self._pause(error)
            except Exception:
                _log.exception("indexing stopped for a moment")
                self._pause(EmbeddingError("an unexpected error; see the log"))
            else:
                self._failures = 0
                if not progressed:
                    self._notify()
                    self._wake.wait(_POLL_SECONDS)

    def _round(self) -> bool:
        """Embed everything stale once; return whether there was anything.

        What has been looked at is not looked at again: in a large catalog that would take seconds for every write.
        """
        if self._everything:
            self._settled_at, self._everything = 0, False
        number, since = self._documents.number(), self._settled_at
        if number == since and not self._awake:
            return False
        self._awake, after, progressed, elsewhere = False, 0, False, False
        while not self._stopped.is_set():
            started = time.monotonic()
            with self._documents.claim(self._space, BATCH, after, since) as claimed:
                if claimed.last is None:
                    break
                after, elsewhere = claimed.last, elsewhere or claimed.elsewhere
                todo = [one for one in claimed.stale if self._refused.get(one.key, ("", ""))[0] != one.text_hash]
                if todo:
                    progressed = True
                    self._embed(todo)
            self._throttle(len(todo), started)
        if not self._stopped.is_set():
            self._on_complete()
            if not elsewhere:
                self._settled_at = number
        return progressed

    def _throttle(self, texts: int, started: float) -> None:
        """Wait until embedding so many texts should have taken the time since `started`."""
        if self.rate is not None:
            self._stopped.wait(max(0.0, started + texts / self.rate - time.monotonic()))

    def _embed(self, stale: Sequence[Stale]) -> None:
        started = time.monotonic()
        try:
            vectors = self._vectors([item.text for item in stale])
        except EmbeddingError as error:
            if not error.permanent:
                raise
            self._embed_halves(stale, error)
            return
        finally:
            self.totals.seconds += time.monotonic() - started
        made = [Embedded(item.key, item.text_hash, vector) for item, vector in zip(stale, vectors, strict=True)]
        self.totals.embedded += self._documents.put_vectors(self._space, made)
        self._on_stored()
        self._notify()

    def _vectors(self, texts: Sequence[str]) -> Matrix:
        if self._embedder.provider != "local":
            return self._embedder.documents(texts)
        vectors = np.empty((len(texts), self._embedder.dim), np.float32)
        for row, text in enumerate(texts):
            self.yield_to_foreground()
            vectors[row] = self._embedder.documents([text])[0]
        return vectors

    def _embed_halves(self, stale: Sequence[Stale], error: EmbeddingError) -> None:
        """Find the text that was refused, so that it does not keep the others out."""
        if len(stale) == 1:
            self._refused[stale[0].key] = (stale[0].text_hash, str(error))
            self._note(error)
            return
        middle = len(stale) // 2
        self._embed(stale[:middle])
        self._embed(stale[middle:])

    def _pause(self, error: EmbeddingError) -> None:
        self.totals.failures += 1
        self._note(error)
        seconds = _BACKOFF_SECONDS[min(self._failures, len(_BACKOFF_SECONDS) - 1)]
        self._failures += 1
        self._stopped.wait(max(seconds, error.retry_after or 0.0))

    def _note(self, error: EmbeddingError) -> None:
        if self.totals.last_error != str(error):
            _log.warning("embedding failed: %s", error)
        self.totals.last_error = str(error)
        self._notify()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()
