"""The on-disk segment of the keyword index: a tantivy index, and a file that says which revision it has reached."""

import contextlib
import importlib.metadata
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec
import tantivy

from search import integrity
from search.lexical.schema import has_key, key_query, open_index, tantivy_document
from search.text import INDEXING_RECIPE
from search.types import DocumentGone, DocumentPut

_WRITER_MEMORY_BYTES = 32_000_000


class IndexState(msgspec.Struct):
    """The state of the index at its commit `opstamp`, in a file beside it that every commit replaces.

    It is no document of the index: tantivy counts the deleted documents of a segment in its scores, so these would
    depend on the number of commits. A crash between a commit and its state leaves the state before it. The changes
    after that revision are then applied again, which changes nothing.
    """

    identity: str
    revision: int
    documents: int
    opstamp: int


def read_state(folder: Path) -> IndexState:
    """Return the state of the index in `folder`. Raises OSError, msgspec.DecodeError, msgspec.ValidationError."""
    return msgspec.json.decode((folder / integrity.STATE_FILE).read_bytes(), type=IndexState)


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
            state = read_state(self.folder)
        except FileNotFoundError:
            return "it has no state"
        except (ValueError, OSError, msgspec.DecodeError) as error:
            return str(error)
        if state.identity != self._identity:
            return "it belongs to another catalog, text recipe or tantivy release"
        assert self._writer is not None
        if state.opstamp == self._writer.commit_opstamp and state.documents != self.searcher.num_docs:
            return "its number of documents is wrong"
        self.revision = state.revision
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

    def _write(self, changes: Iterable[DocumentPut | DocumentGone]) -> None:
        assert self._writer is not None
        was_empty = self.searcher.num_docs == 0
        for change in changes:
            key = change.document.key if isinstance(change, DocumentPut) else change.key
            if not was_empty and has_key(self.searcher, key):
                # By query, because deletion by the term of an unsigned field silently deletes nothing.
                self._writer.delete_documents_by_query(key_query(key))
            if isinstance(change, DocumentPut):
                self._writer.add_document(tantivy_document(change.document))

    def _commit(self, revision: int) -> None:
        assert self._writer is not None
        opstamp = self._writer.commit()
        self._index.reload()
        self.searcher = self._index.searcher()
        state = IndexState(self._identity, revision, self.searcher.num_docs, opstamp)
        integrity.replace_file(self.folder / integrity.STATE_FILE, msgspec.json.encode(state))
        self.revision = revision

    def close(self) -> None:
        """Wait for background merges and release the folder. Searches in progress still complete."""
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None
