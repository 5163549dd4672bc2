"""Search as one piece: indexes, the thread that embeds, the query path, and their life together."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from embeddings.base import Embedder
from search.index_sync import IndexSync
from search.indexer import Indexer
from search.lexical.disk_segment import IndexNotWritten
from search.reports import EngineStatus, Reindexed
from search.service import SearchService, Semantic
from search.text import RECIPE
from search.types import Documents
from search.vectors.base import OpenVectors
from search.vectors.faiss_index import FaissVectors

_log = logging.getLogger("search")

_STALLED_SECONDS = 60.0

Progress = Callable[[int, int], None]
"""Called with how many documents are done and how many there are to do."""


def text_space(embedder: Embedder) -> str:
    """Return the name of the vectors `embedder` makes of our texts: another recipe of texts, another space."""
    return f"{embedder.space}/text-{RECIPE}"


class Engine:
    """Search over `documents`, with index files in `folder`.

    Without an embedder search is by words. `previous` is an embedder with the space it filled before the settings
    changed: it answers until the new space is complete, then its vectors are dropped. `on_complete` is called when the
    space is complete for the first time.
    `indexing` is false in processes that leave the embedding to another one. `open_vectors` chooses the vector index.
    """

    def __init__(
        self,
        documents: Documents,
        folder: Path,
        embedder: Embedder | None,
        *,
        previous: tuple[Embedder, str] | None = None,
        fallback_seconds: float = 1.5,
        indexing: bool = True,
        on_complete: Callable[[], None] = lambda: None,
        open_vectors: OpenVectors = FaissVectors,
    ) -> None:
        self._documents = documents
        self._folder = folder
        self._on_complete = on_complete
        self._open_vectors = open_vectors
        self._reindexing: dict[tuple[bool, tuple[int, ...] | None], Future[Reindexed]] = {}
        self._lock = threading.Lock()
        self._was_complete = False
        self._counted = (-1, 0)
        self.follower = IndexSync(documents, folder)
        self._target = self._semantic(embedder, text_space(embedder)) if embedder else None
        self._serving = self._target
        if previous and self._target and self._is_better(previous[1], self._target.space):
            self._serving = self._semantic(*previous)
        self._follow()
        self.search = SearchService(documents, self.follower, self._answering, fallback_seconds)
        self.indexer = (
            Indexer(documents, self._target.embedder, self._target.space, self.follower.catch_up, self._completed)
            if self._target and indexing
            else None
        )
        if self.indexer:
            self.indexer.yield_to_foreground = self.search.in_flight.yield_to_foreground

    def _semantic(self, embedder: Embedder, space: str) -> Semantic:
        path = self._folder / f"{_file_name(space)}.faiss"
        return Semantic(embedder, space, self._open_vectors(path, self._documents.catalog_id, space, embedder.dim))

    def _is_better(self, old: str, new: str) -> bool:
        """Return whether the old space has more to answer with than the new one, which is still being filled."""
        return old != new and self._documents.stale_count(new) > self._documents.stale_count(old)

    def _follow(self) -> None:
        spaces = {one.space: one.vectors for one in (self._serving, self._target) if one}
        self.follower.follow(*spaces.values())

    def start(self) -> None:
        """Bring the indexes up to date and begin to embed what is stale."""
        self.changed()
        self.start_indexing()

    def start_indexing(self) -> None:
        """Begin to embed what is stale: one process of a catalog does."""
        if self.indexer:
            self.indexer.start()

    def stop_indexing(self) -> None:
        """Leave the embedding to another process after the batch in hand, until started again."""
        if self.indexer:
            self.indexer.stop()

    def changed(self) -> None:
        """Make what was just committed findable by words, and have it embedded.

        What is committed stays so where the index cannot follow: the next search tries again, and says so.
        """
        try:
            self.follower.catch_up()
        except IndexNotWritten:
            _log.exception("the latest changes cannot be found yet")
        if self.indexer:
            self.indexer.wake()

    def follow(self) -> None:
        """Take up what another process may have committed, so that no search has to wait for it."""
        if self.indexer:
            self.indexer.look()
        self.follower.look()

    def _completed(self) -> None:
        """Let the new space answer now that nothing of it is missing, and drop every other one."""
        target, indexer = self._target, self.indexer
        if target is None or indexer is None:
            return
        if not self._was_complete and self._documents.stale_count(target.space) > len(indexer.refused()):
            return
        if not target.vectors.is_ready() and self._serving is not target:
            return
        self._serve(target)
        self._documents.drop_other_spaces([target.space])
        if not self._was_complete:
            self._was_complete = True
            self._remove_other_snapshots(target)
            self._on_complete()
            self.follower.save()

    def _serve(self, target: Semantic) -> None:
        if self._serving is not target:
            self._serving = target
            self._follow()

    def _answering(self) -> Semantic | None:
        """Return what answers: the new space as soon as the process that embeds has dropped the one before it."""
        target, serving = self._target, self._serving
        if target and serving and serving is not target and serving.space not in self._documents.spaces():
            self._serve(target)
        return self._serving

    def _remove_other_snapshots(self, kept: Semantic) -> None:
        for path in self._folder.glob("vectors-*"):
            if not path.name.startswith(f"{_file_name(kept.space)}."):
                path.unlink(missing_ok=True)

    def reindex(
        self, keys: Sequence[int] | None = None, *, force: bool = False, progress: Progress | None = None
    ) -> Reindexed:
        """Make search right for these documents, or all: index what changed, or everything where `force` says so.

        A call that comes while the same is under way returns that one's result.
        """
        question = (force, None if keys is None else tuple(keys))
        with self._lock:
            running = self._reindexing.get(question)
            future = running or self._reindexing.setdefault(question, Future())
        if running:
            return running.result()
        try:
            future.set_result(self._reindex(keys, force, progress or (lambda done, total: None)))
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._reindexing[question]
        return future.result()

    def _reindex(self, keys: Sequence[int] | None, force: bool, progress: Progress) -> Reindexed:
        started = time.monotonic()
        total = self._documents.count() if keys is None else len(keys)
        if force and keys is None:
            self.follower.rebuild_words()
        self.follower.catch_up()
        todo, left, errors = self._embed(keys, force, progress)
        return Reindexed(
            reindexed=todo - left if self._target else total,
            count=total,
            skipped=total - todo if self._target else 0,
            removed=self._documents.drop_other_spaces([s.space for s in (self._serving, self._target) if s]),
            failed=left,
            errors=errors,
            duration_ms=round((time.monotonic() - started) * 1000),
            mode="hybrid" if self._target else "keyword",
        )

    def _embed(self, keys: Sequence[int] | None, force: bool, progress: Progress) -> tuple[int, int, list[str]]:
        """Have everything stale embedded; return how much there was, how much is left and why."""
        target = self._target
        if target is None:
            return 0, 0, []
        if force:
            self._documents.forget_vectors(target.space, keys)
        failures = self._embed_again()
        todo = left = self._documents.stale_count(target.space, keys)
        moved_at = time.monotonic()
        while left and not (errors := self._why_not(keys, left, failures, moved_at)):
            progress(todo - left, todo)
            self._wait(0.5)
            before, left = left, self._documents.stale_count(target.space, keys)
            moved_at = time.monotonic() if left != before else moved_at
        progress(todo - left, todo)
        return todo, left, errors if left else []

    def _embed_again(self) -> int:
        """Wake the indexer, also for texts refused before; return how often it has failed so far."""
        if self.indexer is None:
            return 0
        self.indexer.retry_refused()
        self.indexer.wake()
        return self.indexer.totals.failures

    def _why_not(self, keys: Sequence[int] | None, left: int, failures: int, moved_at: float) -> list[str]:
        """Return why what is left will not be embedded now; empty while it is being done."""
        if time.monotonic() - moved_at > _STALLED_SECONDS:
            return ["nothing has been embedded for a while: is the process that embeds running?"]
        if self.indexer is None:
            return []
        refused = [why for key, why in self.indexer.refused().items() if keys is None or key in keys]
        if left == len(refused):
            return sorted(set(refused))
        failed = self.indexer.totals.failures > failures
        return [self.indexer.totals.last_error or "the provider failed"] if failed else []

    def _wait(self, seconds: float) -> None:
        if self.indexer is None:
            time.sleep(seconds)
        else:
            self.indexer.wait_for_progress(seconds)

    def status(self) -> EngineStatus:
        """Return how the indexes stand."""
        target = self._target
        pending = self._pending(target) if target else 0
        count = self._documents.count()
        drift = abs(len(self.follower.words.state) - count)
        if target:
            drift += abs(len(target.vectors) - self._documents.vector_count(target.space))
        return EngineStatus(
            indexed=count - pending,
            pending=pending,
            drift=drift,
            generation=self._documents.number(),
            provider=target.embedder.provider if target else None,
            model=target.embedder.model if target else None,
            dim=target.embedder.dim if target else None,
            last_error=self.indexer.totals.last_error if self.indexer and pending else None,
        )

    def _pending(self, target: Semantic) -> int:
        """Return how many documents have no current vector; counted anew only where something has changed."""
        number = self._documents.number()
        if self._counted[0] != number:
            since = self.indexer.complete_up_to() if self.indexer else 0
            self._counted = (number, self._documents.stale_count(target.space, since=since))
        return self._counted[1]

    def wait_until_embedded(self, seconds: float) -> None:
        """Return when nothing is left to embed, embedding has failed, or `seconds` have passed."""
        deadline = time.monotonic() + seconds
        while self.indexer and not self.indexer.totals.failures and time.monotonic() < deadline:
            if not self.status().pending:
                return
            self.indexer.wait_for_progress(min(0.2, seconds))

    def close(self) -> None:
        """Stop embedding, write the snapshots, let the files go."""
        self.stop_indexing()
        self.search.close()
        for embedder in {id(one.embedder): one.embedder for one in (self._serving, self._target) if one}.values():
            embedder.close()
        self.follower.close()


def _file_name(space: str) -> str:
    return "vectors-" + "".join(sign if sign.isalnum() else "-" for sign in space)[-120:]
