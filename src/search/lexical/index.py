"""The keyword index: an on-disk segment, and an in-memory segment of the changes that are not flushed yet."""

import contextlib
import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from search import integrity
from search.copies.likeness import Signatures
from search.lexical.disk_segment import DiskSegment, IndexWriteError
from search.lexical.memory_segment import MemoryDocument, MemorySegment, memory_document
from search.lexical.reader import DiskReader, LexicalReader
from search.thread_health import ThreadHealth, rest, started
from search.types import DocumentGone, DocumentPut, Keys

_log = logging.getLogger("search")

MAX_UNFLUSHED = 200
"""The number of changed documents that may be in memory. Larger batches go directly to the disk."""

FLUSH_SECONDS = 1.0
"""How long changes stay in memory, so that one commit flushes many."""

_Changes = dict[int, DocumentPut | DocumentGone]


class LexicalIndex:
    """The keyword index of one catalog. `reader` searches it at its current revision.

    A commit waits for the disk several times, so a search that must see the latest write would wait for it too. So
    a few changes stay in memory, are searched together with the segment on disk, and are flushed by a background
    thread. After a crash, index sync reads lost changes from the catalog again, from the revision on disk.
    Only one process may open a folder. Readers are safe to use from any thread; `apply` must not run concurrently.
    """

    def __init__(self, folder: Path, catalog_id: str) -> None:
        self.folder = folder
        self._disk = DiskSegment(folder, catalog_id)
        self.rebuild_reason = self._disk.rebuild_reason
        self._disk_reader = DiskReader(self._disk.searcher)
        self.reader = LexicalReader(self._disk.revision, self._disk_reader)
        self._unflushed: _Changes = {}
        self._memory_documents: dict[int, MemoryDocument] = {}
        self._replaced: list[int] = []  # the unflushed keys that the disk has too
        self._lock = threading.Lock()  # guards the state in memory; _flush_lock is taken first if both are needed
        self._flush_lock = threading.Lock()
        self._closing = threading.Event()
        self._flush_thread: threading.Thread | None = None
        self._health = ThreadHealth("keyword index", _log, (IndexWriteError,))

    def signatures(self) -> tuple[Keys, Signatures]:
        """Return the keys and the signatures of the documents on disk."""
        return self._disk_reader.signatures()

    def apply(self, changes: Sequence[DocumentPut | DocumentGone], revision: int) -> None:
        """Apply `changes`. The index is then at `revision`, and a new `reader` finds them.

        Raises IndexWriteError if the changes do not fit in memory and cannot be written. The next call tries again.
        """
        latest = {_key(change): change for change in changes}
        if len(self._unflushed.keys() | latest.keys()) > MAX_UNFLUSHED:
            self._flush(latest, revision)
            return
        added = {key: memory_document(put.document) for key, put in latest.items() if isinstance(put, DocumentPut)}
        with self._lock:
            self._replaced += self._disk_reader.existing(latest.keys() - self._unflushed.keys())
            self._unflushed |= latest
            self._memory_documents |= added
            self._update_reader(revision)
            if self._flush_thread is None:
                self._flush_thread = started(self._flush_periodically, "flush-keyword-index", self._health)

    def _update_reader(self, revision: int) -> None:
        """Create a reader in which unflushed changes replace what the disk has of the same documents."""
        puts = [key for key, change in self._unflushed.items() if isinstance(change, DocumentPut)]
        memory = MemorySegment(self._memory_documents[key] for key in puts)
        self.reader = LexicalReader(revision, self._disk_reader, tuple(self._replaced), memory)

    def _flush_periodically(self) -> None:
        while not rest(self._closing, max(FLUSH_SECONDS, self._health.seconds_left())):
            with self._health.attempt(self._closing):  # meanwhile, searches find the latest changes in memory
                self.flush()
            with self._lock:
                if not self._unflushed:
                    self._flush_thread = None
                    return

    def flush(self) -> None:
        """Write all changes to the disk. Raises IndexWriteError."""
        self._flush({}, self.reader.revision)

    def _flush(self, added: _Changes, revision: int) -> None:
        """Write the unflushed changes and `added` as `revision`."""
        with self._flush_lock:
            with self._lock:
                changes, revision = self._unflushed | added, max(revision, self.reader.revision)
            if revision > self._disk.revision:
                self._disk.apply(changes.values(), revision)
            with self._lock:  # changes that arrived during the write stay unflushed
                self._unflushed = {key: change for key, change in self._unflushed.items() if change.revision > revision}
                self._memory_documents = {
                    key: document for key, document in self._memory_documents.items() if key in self._unflushed
                }
                self._disk_reader = DiskReader(self._disk.searcher)
                self._replaced = self._disk_reader.existing(self._unflushed)
                self._update_reader(max(revision, self.reader.revision))

    def copy(self, folder: Path) -> int:
        """Flush, copy the index into a new folder on the same disk, and return the revision of the copy.

        Raises OSError if a merge deletes files meanwhile: the caller can retry.
        """
        with contextlib.suppress(IndexWriteError):
            self.flush()
        with self._flush_lock:
            integrity.link_tantivy(self.folder, folder)
            return self._disk.revision

    def close(self) -> None:
        """Flush and release the folder. Searches in progress still complete."""
        self._closing.set()
        self._health.is_active = False
        if (thread := self._flush_thread) is not None:
            thread.join()
        with contextlib.suppress(IndexWriteError):  # the next start reads the changes from the catalog
            self.flush()
        self._disk.close()


def _key(change: DocumentPut | DocumentGone) -> int:
    return change.document.key if isinstance(change, DocumentPut) else change.key
