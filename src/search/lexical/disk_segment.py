"""The on-disk segment of the keyword index: a tantivy index that commits its revision together with its documents."""

import contextlib
import importlib.metadata
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec
import tantivy

from search import integrity
from search.lexical.schema import SCHEMA, has_key, key_query, open_index, tantivy_document
from search.text import INDEXING_RECIPE
from search.types import DocumentGone, DocumentPut

_WRITER_MEMORY_BYTES = 32_000_000


class IndexState(msgspec.Struct):
    """The state of the index, stored in it as a document, so that one commit covers both.

    The JSON field of `revision` is `number`: its name in existing index files.
    """

    identity: str
    revision: int = msgspec.field(name="number")
    documents: int


class IndexWriteError(Exception):
    """Changes could not be written to an index, for example because the disk is full. It still serves searches."""


def lexical_identity(catalog_id: str) -> str:
    """Return the identity that index files must have to be used: catalog, text recipe and tantivy release."""
    return f"{catalog_id}/{INDEXING_RECIPE}/{importlib.metadata.version('tantivy')}"


class DiskSegment:
    """A tantivy index in `folder`, with the `revision` of its last commit.

    A folder that is missing, damaged, or of another catalog or text recipe is replaced by an empty index at revision
    0. Only one process may open a folder. `searcher` reads the last commit. `apply` must not run concurrently.
    """

    searcher: tantivy.Searcher
    _index: tantivy.Index

    def __init__(self, folder: Path, catalog_id: str) -> None:
        self._identity = lexical_identity(catalog_id)
        self.folder = folder
        self.revision = 0
        self._count = 0
        # None from a failed write until the index is open again. Only this attribute may refer to the writer: the
        # folder stays locked until it is freed, and a local variable would live on in the traceback of an error.
        self._writer: tantivy.IndexWriter | None = None
        self.rebuild_reason = self._open_existing()
        if self.rebuild_reason is not None:
            self._create_empty()

    def _open_existing(self) -> str | None:
        """Open the index in the folder; return why it cannot be used, or None."""
        fault = integrity.tantivy_fault(self.folder)
        if fault is not None:
            return fault
        try:
            self._open()
            state = self._read_state()
        except (ValueError, OSError, msgspec.DecodeError) as error:
            return str(error)
        if state.identity != self._identity:
            return "it belongs to another catalog, text recipe or tantivy release"
        if state.documents != self.searcher.num_docs - 1:
            return "its number of documents is wrong"
        self.revision, self._count = state.revision, state.documents
        return None

    def _create_empty(self) -> None:
        self._writer = None
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._open()
        self._commit(0)

    def _open(self) -> None:
        self._index = open_index(str(self.folder))
        self._writer = self._index.writer(heap_size=_WRITER_MEMORY_BYTES, num_threads=1)
        self.searcher = self._index.searcher()

    def _read_state(self) -> IndexState:
        state_query = tantivy.Query.term_query(SCHEMA, "state", "state", "basic")
        hits = self.searcher.search(state_query, 1, count=False).hits
        if not hits:
            raise ValueError("it contains no state")
        stored = self.searcher.doc(hits[0][1]).get_all("state")
        return msgspec.json.decode(stored[1], type=IndexState)

    def apply(self, changes: Iterable[DocumentPut | DocumentGone], revision: int) -> None:
        """Apply and commit `changes`, at most one per document. The index is then at `revision`.

        Raises IndexWriteError; the next call tries again.
        """
        try:
            if self._writer is None:
                self._reopen()
            self._write(changes)
            self._commit(revision)
        except (ValueError, OSError) as error:
            with contextlib.suppress(ValueError, OSError):  # the next call tries again
                self._reopen()
            raise IndexWriteError(f"the keyword index could not be written: {error}") from error

    def _reopen(self) -> None:
        """Return to the last commit with a new writer: after a failure, the old one accepts no more documents."""
        self._writer = None
        self._open()
        self._count = self._read_state().documents

    def _write(self, changes: Iterable[DocumentPut | DocumentGone]) -> None:
        assert self._writer is not None
        was_empty = self._count == 0
        for change in changes:
            key = change.document.key if isinstance(change, DocumentPut) else change.key
            if not was_empty and has_key(self.searcher, key):
                # By query, because deletion by the term of an unsigned field silently deletes nothing.
                self._writer.delete_documents_by_query(key_query(key))
                self._count -= 1
            if isinstance(change, DocumentPut):
                self._writer.add_document(tantivy_document(change.document))
                self._count += 1

    def _commit(self, revision: int) -> None:
        assert self._writer is not None
        self._writer.delete_documents_by_term("state", "state")
        state_document = tantivy.Document()
        state_document.add_text("state", "state")
        state = IndexState(identity=self._identity, revision=revision, documents=self._count)
        state_document.add_text("state", msgspec.json.encode(state).decode())
        self._writer.add_document(state_document)
        self._writer.commit()
        self._index.reload()
        self.searcher = self._index.searcher()
        self.revision = revision

    def close(self) -> None:
        """Wait for background merges and release the folder. Searches in progress still complete."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None
