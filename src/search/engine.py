"""The search engine of one catalog: its indexes, the thread that embeds, the query path, and their life cycle."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from embeddings.base import Embedder
from search.index_sync import IndexSync
from search.indexer import Indexer
from search.lexical.disk_segment import IndexWriteError
from search.reports import EngineStatus, Reindexed
from search.service import SearchService, Semantic
from search.text import EMBEDDING_RECIPE
from search.types import Documents, Filter
from search.vectors.base import OpenVectors, VectorIndex, VectorsUnavailable

_log = logging.getLogger("search")

_STALLED_SECONDS = 60.0
Progress = Callable[[int, int], None]
"""A progress callback. Parameters: the number of documents done, and the number to do."""


def text_space(embedder: Embedder) -> str:
    """Return the space of an embedder's document vectors. It contains the version of the text preparation."""
    return f"{embedder.space}/text-{EMBEDDING_RECIPE}"


class Engine:
    """Hybrid search over `documents`, with index files in `folder`. Without an embedder, keyword search only.

    `previous` is the embedder used before the settings changed, with its space. It serves until the new space is
    complete; then `on_complete` is called. A search waits `fallback_seconds` for the vector of its query. `indexing`
    is false in processes that leave the embedding to another one, `embedding_rate` is the maximum number of documents
    embedded per second. `open_vectors` opens the vector index of a space, None the one
    in this process; `verified` and `lowered` are those of `SearchService`.
    """

    def __init__(  # noqa: PLR0913 - the optional parameters are keywords
        self,
        documents: Documents,
        folder: Path,
        embedder: Embedder | None,
        *,
        previous: tuple[Embedder, str] | None = None,
        fallback_seconds: float = 1.5,
        indexing: bool = True,
        embedding_rate: float | None = None,
        on_complete: Callable[[], None] = lambda: None,
        open_vectors: OpenVectors | None = None,
        verified: Filter | None = None,
        lowered: Filter | None = None,
    ) -> None:
        self._documents = documents
        self._folder = folder
        self._on_complete = on_complete
        self._open_vectors = open_vectors or _open_in_memory
        self._running_reindexes: dict[tuple[bool, tuple[int, ...] | None], Future[Reindexed]] = {}
        self._lock = threading.Lock()
        self._was_complete = False
        self.index_sync = IndexSync(documents, folder)
        self._target = self._open_semantic(embedder, text_space(embedder)) if embedder else None
        self._serving = self._target
        if previous and self._target and self._has_more_vectors(previous[1], self._target.space):
            self._serving = self._open_semantic(*previous)
        self._sync_vector_indexes()
        self.search = SearchService(
            documents, self.index_sync, self._current_semantic, fallback_seconds, verified, lowered
        )
        self.indexer = self._make_indexer(self._target, embedding_rate) if self._target and indexing else None
        if self.indexer is not None:
            self.index_sync.on_caught_up = self.indexer.wake

    def _open_semantic(self, embedder: Embedder, space: str) -> Semantic:
        path = self._folder / f"{_file_name(space)}.faiss"
        return Semantic(embedder, space, self._open_vectors(path, self._documents.catalog_id, space, embedder.dim))

    def _has_more_vectors(self, old: str, new: str) -> bool:
        """Return whether the old space has current vectors for more documents than the new one, still being filled."""
        return old != new and self._documents.stale_count(new) > self._documents.stale_count(old)

    def _make_indexer(self, target: Semantic, rate: float | None) -> Indexer:
        return Indexer(
            self._documents,
            target.embedder,
            target.space,
            self.index_sync.sync,
            self._space_completed,
            rate=rate,
            yield_to_foreground=self.search.in_flight.yield_to_foreground,
        )

    def _sync_vector_indexes(self) -> None:
        indexes = {semantic.space: semantic.vectors for semantic in self._semantics()}
        self.index_sync.set_vector_indexes(*indexes.values())

    def _semantics(self) -> list[Semantic]:
        """Return the semantic searches in use: the serving one and the target, which are usually the same."""
        return [semantic for semantic in (self._serving, self._target) if semantic]

    def start(self) -> None:
        """Sync the indexes and start embedding stale documents."""
        self.changed()
        self.start_indexing()

    def start_indexing(self) -> None:
        """Start embedding stale documents: the task of one process of a catalog."""
        if self.indexer:
            self.indexer.start()

    def stop_indexing(self) -> None:
        """Stop embedding after the current batch, until it is started again."""
        if self.indexer:
            self.indexer.stop()

    def changed(self) -> None:
        """Apply the changes that this process has just committed to the indexes, and wake the indexer.

        If an index cannot be written, the changes stay committed, and the next search tries again and warns.
        """
        try:
            self.index_sync.sync()
        except IndexWriteError:
            _log.exception("the latest changes could not be indexed; searches do not find them yet")
        if self.indexer:
            self.indexer.wake()

    def sync(self) -> None:
        """Apply the changes that other processes may have committed, so that no search has to wait for it."""
        if self.indexer:
            self.indexer.check_revision()
        self.index_sync.try_sync()

    def _space_completed(self) -> None:
        """Switch to the target space if it is complete, and delete all others."""
        target, indexer = self._target, self.indexer
        if target is None or indexer is None:
            return
        if not self._was_complete and self._documents.stale_count(target.space) > len(indexer.refused()):
            return
        if self._serving is not target and not self._can_serve(target):
            return
        self._serve(target)
        self._documents.drop_other_spaces([target.space])
        if not self._was_complete:
            self._was_complete = True
            self._remove_other_snapshots(target)
            self._on_complete()
            self.index_sync.save()

    def _can_serve(self, target: Semantic) -> bool:
        try:
            self.index_sync.check_vectors(target.vectors, self.index_sync.reached())
            return target.vectors.is_ready()
        except VectorsUnavailable:
            return False  # it catches up, and then wakes the indexer

    def _serve(self, target: Semantic) -> None:
        if self._serving is not target:
            self._serving = target
            self._sync_vector_indexes()

    def _current_semantic(self) -> Semantic | None:
        """Return the semantic search to use: the target once the embedding process has deleted the previous space."""
        target, serving = self._target, self._serving
        if target and serving and serving is not target and serving.space not in self._documents.spaces():
            self._serve(target)
        return self._serving

    def _remove_other_snapshots(self, semantic: Semantic) -> None:
        for path in self._folder.glob("vectors-*"):
            if not path.name.startswith(f"{_file_name(semantic.space)}."):
                path.unlink(missing_ok=True)

    def reindex(
        self, keys: Sequence[int] | None = None, *, force: bool = False, progress: Progress | None = None
    ) -> Reindexed:
        """Index the changed documents of `keys`, or of all; with `force`, index unchanged documents too.

        A call waits for an identical call that is running, and returns its result.
        """
        request = (force, None if keys is None else tuple(keys))
        with self._lock:
            running = self._running_reindexes.get(request)
            future = running or self._running_reindexes.setdefault(request, Future())
        if running:
            return running.result()
        try:
            future.set_result(self._reindex(keys, force, progress or (lambda count, total: None)))
        except BaseException as error:  # callers that wait for the result must get every error
            future.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._running_reindexes[request]
        return future.result()

    def _reindex(self, keys: Sequence[int] | None, force: bool, progress: Progress) -> Reindexed:
        started = time.monotonic()
        total = self._documents.count() if keys is None else len(keys)
        if force and keys is None:
            self.index_sync.rebuild_lexical()
        self.index_sync.sync()
        stale, remaining, errors = self._embed(keys, total, force, progress)
        return Reindexed(
            reindexed=stale - remaining if self._target else total,
            count=total,
            skipped=total - stale if self._target else 0,
            removed=self._documents.drop_other_spaces([semantic.space for semantic in self._semantics()]),
            failed=remaining,
            errors=errors,
            duration_ms=round((time.monotonic() - started) * 1000),
            mode="hybrid" if self._target else "keyword",
        )

    def _embed(
        self, keys: Sequence[int] | None, total: int, force: bool, progress: Progress
    ) -> tuple[int, int, list[str]]:
        """Wait until all stale documents are embedded; return how many there were, how many remain, and why."""
        target = self._target
        if target is None:
            return 0, 0, []
        if force:
            self._documents.forget_vectors(target.space, keys)
        failures = self._wake_indexer()
        remaining = self._documents.stale_count(target.space, keys)
        stale = total if force else remaining  # the indexer may have embedded some before they were counted
        progressed_at = time.monotonic()
        while remaining and not (errors := self._errors(keys, remaining, failures, progressed_at)):
            progress(stale - remaining, stale)
            self._wait(0.5)
            before, remaining = remaining, self._documents.stale_count(target.space, keys)
            progressed_at = time.monotonic() if remaining != before else progressed_at
        progress(stale - remaining, stale)
        return stale, remaining, errors if remaining else []

    def _wake_indexer(self) -> int:
        """Wake the indexer, also for texts refused before; return its number of failures so far."""
        if self.indexer is None:
            return 0
        self.indexer.retry_refused()
        self.indexer.wake()
        return self.indexer.totals.failures

    def _errors(self, keys: Sequence[int] | None, remaining: int, failures: int, progressed_at: float) -> list[str]:
        """Return why the remaining documents will not be embedded now; empty while embedding makes progress."""
        if time.monotonic() - progressed_at > _STALLED_SECONDS:
            return ["no document was embedded for a minute: is the process that embeds running?"]
        if self.indexer is None:
            return []
        refused = [reason for key, reason in self.indexer.refused().items() if keys is None or key in keys]
        if remaining == len(refused):
            return sorted(set(refused))
        failed = self.indexer.totals.failures > failures
        return [self.indexer.totals.last_error or "the provider failed"] if failed else []

    def _wait(self, seconds: float) -> None:
        if self.indexer is None:
            time.sleep(seconds)
        else:
            self.indexer.wait_for_progress(seconds)

    def status(self) -> EngineStatus:
        """Return the state of the indexes."""
        target = self._target
        count = self._documents.count()  # first, so that a document that comes in between does not count as indexed
        pending = self._documents.stale_count(target.space) if target else 0
        drift = abs(len(self.index_sync.lexical.reader) - count)
        problem = self.indexer.totals.last_error if self.indexer and pending else None
        if target:
            stored = self._documents.vector_count(target.space)
            try:
                drift += abs(len(target.vectors) - stored)
            except VectorsUnavailable as error:
                drift, problem = drift + stored, str(error)
        return EngineStatus(
            indexed=max(0, count - pending),
            pending=pending,
            drift=drift,
            generation=self._documents.revision(),
            provider=target.embedder.provider if target else None,
            model=target.embedder.model if target else None,
            dim=target.embedder.dim if target else None,
            last_error=problem,
        )

    def wait_until_embedded(self, seconds: float, progress: Progress = lambda count, total: None) -> None:
        """Return when all documents are embedded, embedding has failed, or `seconds` have passed.

        `progress` is called with the documents that have a vector, and all.
        """
        deadline = time.monotonic() + seconds
        while self.indexer and not self.indexer.totals.failures and time.monotonic() < deadline:
            status = self.status()
            if not status.pending:
                return
            progress(status.indexed, status.indexed + status.pending)
            self.indexer.wait_for_progress(min(0.2, seconds))

    def prepare(self, seconds: float) -> None:
        """Wait until all documents are embedded, or `seconds` have passed, and load a local model for queries."""
        self.wait_until_embedded(seconds)
        self.search.load_model()

    def close(self) -> None:
        """Stop embedding, write the snapshots, and release all files."""
        self.stop_indexing()
        self.search.close()
        for embedder in {id(semantic.embedder): semantic.embedder for semantic in self._semantics()}.values():
            embedder.close()
        self.index_sync.close()


def _open_in_memory(path: Path, catalog_id: str, space: str, dim: int) -> VectorIndex:
    # Imported only if needed: FAISS takes a tenth of a second, and keyword search alone does without.
    from search.vectors.memory_index import MemoryVectors  # noqa: PLC0415

    return MemoryVectors(path, catalog_id, space, dim)


def _file_name(space: str) -> str:
    return "vectors-" + "".join(character if character.isalnum() else "-" for character in space)[-120:]
