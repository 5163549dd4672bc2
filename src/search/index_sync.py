"""Index sync: applies the catalog's change feed to the indexes of this process."""

import contextlib
import logging
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from search.copies.index import CopyIndex
from search.copies.likeness import signature
from search.examples import ExampleIndex
from search.lexical.disk_segment import IndexWriteError
from search.lexical.index import LexicalIndex
from search.types import Documents
from search.vectors.base import VectorIndex
from search.vectors.vector_sync import VectorSync

_log = logging.getLogger("search")

_DOCUMENTS_PER_BATCH = 2000


class IndexSync:
    """Keeps the keyword index and the given vector indexes at the catalog's revision.

    After `sync`, searches find every change that was committed before the call. Concurrent callers wait for the one
    that syncs and then find their work done, so the commits of a burst are grouped.
    """

    def __init__(self, documents: Documents, folder: Path) -> None:
        self._documents = documents
        self._folder = folder
        self._lock = threading.Lock()
        self._synced_revision = -1
        self._vector_syncs: tuple[VectorSync, ...] = ()
        self.on_caught_up: Callable[[], None] = lambda: None
        self.lexical = self._open_lexical()
        self.examples = ExampleIndex(documents.documents_with_examples())
        self.copies = CopyIndex(*self.lexical.signatures())

    def _open_lexical(self) -> LexicalIndex:
        """Open the newest keyword index. An interrupted rebuild continues, because each folder has its own revision."""
        self._folder.mkdir(parents=True, exist_ok=True)
        folders = sorted(self._folder.glob("words-*"), key=_folder_number)
        for old in folders[:-1]:
            shutil.rmtree(old, ignore_errors=True)
        newest = folders[-1] if folders else self._folder / "words-1"
        lexical = LexicalIndex(newest, self._documents.catalog_id)
        if lexical.rebuild_reason and folders:
            _log.warning("rebuilding the keyword index: %s", lexical.rebuild_reason)
        return lexical

    def set_vector_indexes(self, *indexes: VectorIndex) -> None:
        """Sync these vector indexes from now on, in place of the previous ones."""
        with self._lock:
            syncs = {sync.index: sync for sync in self._vector_syncs}
            for index in syncs.keys() - set(indexes):
                syncs[index].stop()
            self._vector_syncs = tuple(
                syncs.get(index) or VectorSync(self._documents, index, self._caught_up) for index in indexes
            )
            self._synced_revision = -1

    def _caught_up(self) -> None:
        self.on_caught_up()

    def has_reached(self, revision: int) -> bool:
        """Return whether searches find every change up to `revision`."""
        return revision <= self._synced_revision

    def reached(self) -> int:
        """Return the revision of the last change that searches find, -1 before the first `sync`."""
        return self._synced_revision

    def sync(self) -> int:
        """Apply all changes committed so far, and return the revision of the last one. Raises IndexWriteError."""
        revision = self._documents.revision()
        if self.has_reached(revision):
            return revision
        with self._lock:
            if not self.has_reached(revision):  # else the previous holder of the lock has applied these changes
                revision = self._documents.revision()
                self._sync_lexical(self.lexical, revision)
                for vectors in self._vector_syncs:
                    vectors.sync(revision)
                self._synced_revision = revision
            return revision

    def try_sync(self) -> None:
        """Sync, and ignore write errors: the next search reports them."""
        with contextlib.suppress(IndexWriteError):
            self.sync()

    # It stops at `revision`: under constant writes, a search would otherwise wait for every later change.
    def _sync_lexical(self, lexical: LexicalIndex, revision: int) -> None:
        while lexical.reader.revision < revision and (
            changes := self._documents.document_changes(lexical.reader.revision, _DOCUMENTS_PER_BATCH)
        ):
            lexical.apply(changes, changes[-1].revision)
            self.examples.apply(changes)
            self.copies.apply(changes)
        signature.cache_clear()

    def check_vectors(self, index: VectorIndex, revision: int) -> None:
        """Raise VectorsUnavailable if a vector index in another process has not reached a revision of the catalog."""
        for vectors in self._vector_syncs:
            if vectors.index is index and index.is_remote:
                vectors.check(revision)

    def vectors_behind(self) -> int:
        """Return how many changes of the catalog the last of the vector indexes in other processes lacks."""
        revision = self._documents.revision()
        return max((vectors.behind(revision) for vectors in self._vector_syncs if vectors.index.is_remote), default=0)

    def follow_vectors(self) -> None:
        """Bring the vector indexes in other processes up to date in the background: one of them has failed."""
        for vectors in self._vector_syncs:
            if vectors.index.is_remote:
                vectors.follow()

    def rebuild_lexical(self) -> None:
        """Build a new keyword index. The old one serves searches until the new one replaces it."""
        folder = self._folder / f"words-{_folder_number(self.lexical.folder) + 1}"
        new = LexicalIndex(folder, self._documents.catalog_id)
        self._sync_lexical(new, self._documents.revision())
        with self._lock:
            self._sync_lexical(new, self._documents.revision())
            old, self.lexical = self.lexical, new
        old.close()
        shutil.rmtree(old.folder, ignore_errors=True)

    def save(self) -> None:
        """Write the snapshots of the vector indexes."""
        for vectors in self._vector_syncs:
            vectors.index.save()

    def copy(self, folder: Path) -> int:
        """Copy the index files into an empty folder on the same disk, and return the revision of the copy.

        Raises OSError, also if a merge deletes files meanwhile: the caller can retry.
        """
        with self._lock:
            self.save()
            revision = self.lexical.copy(folder / self.lexical.folder.name)
            for path in self._folder.glob("vectors-*"):
                if path.suffix != ".tmp":
                    os.link(path, folder / path.name)
            return revision

    def close(self) -> None:
        """Write the snapshots and release the index files."""
        for vectors in self._vector_syncs:
            vectors.stop()
        with self._lock:
            self.save()
            self.lexical.close()


def _folder_number(folder: Path) -> int:
    suffix = folder.name.rpartition("-")[2]
    return int(suffix) if suffix.isascii() and suffix.isdigit() else 0
