"""The words index on disk: it stands at a change number, and every commit of it lasts."""

import contextlib
import importlib.metadata
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec
import tantivy

from search import integrity
from search.lexical.schema import SCHEMA, has_key, key_query, open_index, tantivy_document
from search.text import RECIPE
from search.types import DocumentGone, DocumentPut

_WRITER_MEMORY = 32_000_000


class IndexState(msgspec.Struct):
    """What the index says of itself, stored in it as a document so that it commits with the rest."""

    identity: str
    number: int
    documents: int


class IndexNotWritten(Exception):
    """An index could not take over changes, for want of space perhaps; it still answers as of its last commit."""


def words_identity(catalog_id: str) -> str:
    """Return what an index must be of to be used: the catalog, the recipe of texts, the release of tantivy."""
    return f"{catalog_id}/{RECIPE}/{importlib.metadata.version('tantivy')}"


class DiskSegment:
    """A tantivy index in `folder`, which remembers the change it stands at (`number`), committed together with it.

    A folder that is missing, damaged, of another catalog or of another text recipe is emptied, and `number` starts
    at 0. One process may have a folder open at a time. `searcher` is of the last commit; `apply` is for one thread at
    a time.
    """

    def __init__(self, folder: Path, catalog_id: str) -> None:
        self._identity = words_identity(catalog_id)
        self.folder = folder
        self.rebuilt_because: str | None = None
        self.number = 0
        self._open()

    def _open(self) -> None:
        fault = integrity.tantivy_fault(self.folder)
        if fault is None:
            try:
                self._start()
                state = self._read_state()
            except (ValueError, OSError, msgspec.DecodeError) as error:
                fault = str(error)
            else:
                fault = self._misfit(state)
                if fault is None:
                    self.number, self._count = state.number, state.documents
                    return
        self._empty(fault)

    def _misfit(self, state: IndexState) -> str | None:
        if state.identity != self._identity:
            return "it belongs to another catalog or recipe"
        return None if state.documents == self.searcher.num_docs - 1 else "its number of documents is wrong"

    def _empty(self, fault: str) -> None:
        self.rebuilt_because = fault
        for name in ("_writer", "searcher", "_index"):  # frees the folder's lock
            self.__dict__.pop(name, None)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._start()
        self._count = 0
        self._commit(0)

    def _start(self) -> None:
        self._index = open_index(str(self.folder))
        self._writer = self._index.writer(heap_size=_WRITER_MEMORY, num_threads=1)
        self.searcher = self._index.searcher()

    def _read_state(self) -> IndexState:
        marker = tantivy.Query.term_query(SCHEMA, "state", "state", "basic")
        found = self.searcher.search(marker, 1, count=False).hits
        if not found:
            raise ValueError("it holds no state")
        stored = self.searcher.doc(found[0][1]).get_all("state")
        return msgspec.json.decode(stored[1], type=IndexState)

    def _commit(self, number: int) -> None:
        self._writer.delete_documents_by_term("state", "state")
        marker = tantivy.Document()
        marker.add_text("state", "state")
        state = IndexState(self._identity, number, self._count)
        marker.add_text("state", msgspec.json.encode(state).decode())
        self._writer.add_document(marker)
        self._writer.commit()
        self._index.reload()
        self.searcher = self._index.searcher()
        self.number = number

    def apply(self, changes: Iterable[DocumentPut | DocumentGone], number: int) -> None:
        """Take over `changes`, at most one a document; the index then stands at change `number`, for good.

        Raises IndexNotWritten; the next call tries again.
        """
        if not hasattr(self, "_writer"):
            self._recover()
        try:
            self._take(changes)
            self._commit(number)
        except (ValueError, OSError, AttributeError) as error:
            self._recover()
            raise IndexNotWritten(f"the words index could not be written: {error}") from error

    def _take(self, changes: Iterable[DocumentPut | DocumentGone]) -> None:
        fresh = self._count == 0
        for change in changes:
            key = change.document.key if isinstance(change, DocumentPut) else change.key
            if not fresh and has_key(self.searcher, key):
                # By query: deleting by the term of an unsigned field deletes nothing, in silence.
                self._writer.delete_documents_by_query(key_query(key))
                self._count -= 1
            if isinstance(change, DocumentPut):
                self._writer.add_document(tantivy_document(change.document))
                self._count += 1

    def _recover(self) -> None:
        """Go back to the last commit with a writer of its own: a failed one takes nothing any more."""
        with contextlib.suppress(AttributeError):
            del self._writer
        with contextlib.suppress(ValueError, OSError):
            self._start()
            self._count = self._read_state().documents

    def close(self) -> None:
        """Finish background merges and let the folder go; searches under way still end well."""
        with contextlib.suppress(AttributeError):  # the disk may have been full to the end
            self._writer.wait_merging_threads()
            del self._writer
