"""The indexer: a thread that embeds stale documents. It has no queue; the catalog knows what is stale."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from embeddings.base import Embedder, EmbeddingError, Matrix, Vector
from search.examples import vector_with_examples
from search.lru_cache import LruCache
from search.thread_health import ThreadHealth, rest
from search.types import Documents, Embedded, Stale

_log = logging.getLogger("search")

BATCH = 256
"""Documents per batch: those that one process claims, and that one request of a provider embeds."""

_LEAST_STORED = 16
"""Documents that are stored together on this machine, at least ..."""

_STORED_SECONDS = 0.5
"""... and as many as are embedded in this time: a commit takes a hundredth of it."""

_POLL_SECONDS = 2.0
_CACHED_VECTORS = 2000
_BACKOFF_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)


class Totals(msgspec.Struct):
    """The counters of an indexer since it was created, the time spent embedding, and the last error."""

    embedded: int = 0
    seconds: float = 0.0
    failures: int = 0
    last_error: str | None = None


def _do_not_yield() -> None:
    """Go on at once."""


class Indexer:
    """A thread that embeds all stale documents of the embedder's space and then waits for changes.

    After a failure of the provider it retries with increasing pauses. A text that the provider refuses permanently is
    skipped until it changes or `retry_refused` is called. Documents claimed by another process are left to it, and
    checked again later.

    Args:
        documents: The catalog.
        embedder: Makes the vectors.
        space: The name of the embedder's space.
        on_stored: Called after each stored batch.
        on_complete: Called when nothing is left to claim.
        rate: The maximum number of texts per second, None for no limit.
        yield_to_foreground: Called before each text that is embedded on this machine; waits for foreground work.
    """

    def __init__(
        self,
        documents: Documents,
        embedder: Embedder,
        space: str,
        on_stored: Callable[[], object],
        on_complete: Callable[[], None],
        *,
        rate: float | None = None,
        yield_to_foreground: Callable[[], None] = _do_not_yield,
    ) -> None:
        self._documents, self._embedder, self._space = documents, embedder, space
        self._on_stored = on_stored
        self._on_complete = on_complete
        self._rate = rate
        self._yield_to_foreground = yield_to_foreground
        self._cached: LruCache[tuple[str, str], Vector] = LruCache(_CACHED_VECTORS)
        self._refused: dict[int, tuple[str, str]] = {}  # by key: the hash of the refused text, and the reason
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._progress = threading.Condition()
        self._failures = 0  # in a row
        self._rescan_wanted = self._full_rescan_wanted = True
        self._complete_revision = 0
        self.totals = Totals()
        self._thread: threading.Thread | None = None
        self._health = ThreadHealth("embedding", _log)

    def start(self) -> None:
        """Start the thread."""
        self._full_rescan_wanted = True
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name="indexer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current batch, and wait for it."""
        self._stopped.set()
        self.wake()
        if self._thread is not None:
            self._thread.join()

    def wake(self) -> None:
        """Look for stale documents now."""
        self._rescan_wanted = True
        self._wake.set()

    def check_revision(self) -> None:
        """Look for stale documents if the catalog's revision has changed: another process may have written."""
        self._wake.set()

    def retry_refused(self) -> None:
        """Try the refused texts again."""
        self._refused.clear()
        self._full_rescan_wanted = True

    def refused(self) -> dict[int, str]:
        """Return the reason for each document that is skipped because its text was refused."""
        return {key: reason for key, (_, reason) in self._refused.items()}

    def wait_for_progress(self, seconds: float) -> None:
        """Return after the next batch or failure, or after `seconds`."""
        with self._progress:
            self._progress.wait(seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            with self._health.attempt(self._stopped):
                self._round()
            if self._health.problem is not None and not self._stopped.is_set():
                self._pause(EmbeddingError("an unexpected error; see the log"))

    def _round(self) -> None:
        try:
            progressed = self._embed_stale()
        except EmbeddingError as error:  # the status of the provider tells of it
            self._pause(error)
            return
        self._failures = 0
        if not progressed:
            self._notify()
            rest(self._wake, _POLL_SECONDS)

    def _embed_stale(self) -> bool:
        """Embed all stale documents once, and return whether there were any.

        Only changes since the last complete round are examined: in a large catalog, a full scan takes seconds.
        """
        if self._full_rescan_wanted:
            self._complete_revision, self._full_rescan_wanted = 0, False
        revision, since = self._documents.revision(), self._complete_revision
        if revision == since and not self._rescan_wanted:
            return False
        self._rescan_wanted, after, progressed, has_others = False, 0, False, False
        while not self._stopped.is_set():
            started = time.monotonic()
            with self._documents.claim(self._space, BATCH, after, since) as claimed:
                if claimed.last_key is None:
                    break
                after, has_others = claimed.last_key, has_others or claimed.has_others
                batch = [stale for stale in claimed.stale if not self._is_refused(stale)]
                progressed = progressed or bool(batch)
                self._embed_in_parts(batch)
            self._throttle(len(batch), started)
        if not self._stopped.is_set():
            self._on_complete()
            if not has_others:
                self._complete_revision = revision
        return progressed

    def _is_refused(self, stale: Stale) -> bool:
        return self._refused.get(stale.key, ("", ""))[0] == stale.text_hash

    def _throttle(self, texts: int, started: float) -> None:
        """Wait so long that embedding this many texts since `started` does not exceed the rate."""
        if self._rate is not None:
            self._stopped.wait(max(0.0, started + texts / self._rate - time.monotonic()))

    def _embed_in_parts(self, batch: Sequence[Stale]) -> None:
        """Embed a batch and store what is done every half second, for callers that watch, and to stop soon."""
        while batch and not self._stopped.is_set():
            size = self._part_size()
            self._embed(batch[:size])
            batch = batch[size:]

    def _part_size(self) -> int:
        if self._embedder.provider != "local":
            return BATCH  # one request
        if not self.totals.seconds:
            return _LEAST_STORED
        return max(_LEAST_STORED, int(_STORED_SECONDS * self.totals.embedded / self.totals.seconds))

    def _embed(self, batch: Sequence[Stale]) -> None:
        started = time.monotonic()
        try:
            vectors = self._vectors(batch)
        except EmbeddingError as error:
            if not error.permanent:
                raise
            self._embed_halves(batch, error)
            return
        finally:
            self.totals.seconds += time.monotonic() - started
        embedded = [Embedded(stale.key, stale.text_hash, vector) for stale, vector in zip(batch, vectors, strict=True)]
        self.totals.embedded += self._documents.put_vectors(self._space, embedded)
        self._on_stored()
        self._notify()

    def _vectors(self, batch: Sequence[Stale]) -> Matrix:
        vectors = self._description_vectors(batch)
        for row, stale in enumerate(batch):
            if stale.examples:
                weights = [example.weight for example in stale.examples]
                vectors[row] = vector_with_examples(vectors[row], self._example_vectors(stale), weights)
        return vectors

    def _description_vectors(self, batch: Sequence[Stale]) -> Matrix:
        if self._embedder.provider != "local":
            return np.array(self._embedder.documents([stale.text for stale in batch]), np.float32)
        vectors = np.empty((len(batch), self._embedder.dim), np.float32)
        for row, stale in enumerate(batch):
            vectors[row] = self._description_vector(stale)
        return vectors

    def _description_vector(self, stale: Stale) -> Vector:
        """Return the vector of a document's own text. With examples it is cached: a use does not change the text."""
        if stale.examples and (cached := self._cached.get(("document", stale.text))) is not None:
            return cached
        self._yield_to_foreground()
        vector: Vector = self._embedder.documents([stale.text])[0]
        if stale.examples:
            self._cached.put(("document", stale.text), vector)
        return vector

    def _example_vectors(self, stale: Stale) -> Matrix:
        """Return the vectors of a document's examples. A new use of a skill has one new text; the others are cached."""
        texts = [example.text for example in stale.examples]
        vectors = {text: self._cached.get(("query", text)) for text in texts}
        new = [text for text, vector in vectors.items() if vector is None]
        if new:
            self._yield_to_foreground()
            for text, vector in zip(new, self._embedder.queries(new), strict=True):
                vectors[text] = vector
                self._cached.put(("query", text), vector)
        return np.stack([vector for text in texts if (vector := vectors[text]) is not None])

    def _embed_halves(self, batch: Sequence[Stale], error: EmbeddingError) -> None:
        """Find the refused text by bisection and embed the others."""
        if len(batch) == 1:
            self._refused[batch[0].key] = (batch[0].text_hash, str(error))
            self._record(error)
            return
        middle = len(batch) // 2
        self._embed(batch[:middle])
        self._embed(batch[middle:])

    def _pause(self, error: EmbeddingError) -> None:
        self.totals.failures += 1
        self._record(error)
        seconds = _BACKOFF_SECONDS[min(self._failures, len(_BACKOFF_SECONDS) - 1)]
        self._failures += 1
        rest(self._stopped, max(seconds, error.retry_after or 0.0))

    def _record(self, error: EmbeddingError) -> None:
        if self.totals.last_error != str(error):
            _log.warning("embedding failed: %s", error)
        self.totals.last_error = str(error)
        self._notify()

    def _notify(self) -> None:
        with self._progress:
            self._progress.notify_all()
