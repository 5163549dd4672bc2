"""Keeps a process's indexes at the catalog's change number."""

import contextlib
import logging
import os
import shutil
import threading
from pathlib import Path

from search.lexical.disk_segment import IndexNotWritten
from search.lexical.index import LexicalIndex
from search.types import Documents
from search.vectors.base import VectorIndex

_log = logging.getLogger("search")

_DOCUMENTS_A_COMMIT = 2000
_VECTORS_A_STEP = 5000


class IndexSync:
    """Applies what changed in the catalog to the words index and to every vector index given.

    `catch_up` returns when every change committed before the call can be found. Callers that come while another one
    is at it wait and then find their work done, so the commits of a burst are grouped.
    """

    def __init__(self, documents: Documents, folder: Path) -> None:
        self._documents = documents
        self._folder = folder
        self._lock = threading.Lock()
        self._reached = -1
        self._vectors: tuple[VectorIndex, ...] = ()
        self.words = self._open_words()

    def _open_words(self) -> LexicalIndex:
        """Open the newest words folder; a rebuild cut short is continued, since every folder knows its number."""
        self._folder.mkdir(parents=True, exist_ok=True)
        folders = sorted(self._folder.glob("words-*"), key=_generation)
        for old in folders[:-1]:
            shutil.rmtree(old, ignore_errors=True)
        newest = folders[-1] if folders else self._folder / "words-1"
        words = LexicalIndex(newest, self._documents.catalog_id)
        if words.rebuilt_because and folders:
            _log.warning("the words index is built anew: %s", words.rebuilt_because)
        return words

    def follow(self, *vectors: VectorIndex) -> None:
        """Follow these vector indexes from now on, instead of the ones before."""
        with self._lock:
            self._vectors = vectors
            self._reached = -1

    def has_reached(self, number: int) -> bool:
        """Return whether every change up to `number` can be found."""
        return number <= self._reached

    def catch_up(self) -> int:
        """Make every change committed so far findable; return the number of the last one."""
        number = self._documents.number()
        if self.has_reached(number):
            return number
        with self._lock:
            if not self.has_reached(number):  # else who was at it has taken these changes along
                number = self._documents.number()
                self._follow_words(self.words, number)
                for index in self._vectors:
                    self._follow_vectors(index, number)
                self._reached = number
            return number

    def look(self) -> None:
        """Catch up if that can be done now; where it cannot, the next search says so."""
        with contextlib.suppress(IndexNotWritten):
            self.catch_up()

    # Up to `number` and no further: where writes never end, a search would wait for all that come meanwhile.
    def _follow_words(self, words: LexicalIndex, number: int) -> None:
        while words.state.number < number and (
            changes := self._documents.document_changes(words.state.number, _DOCUMENTS_A_COMMIT)
        ):
            words.apply(changes, changes[-1].number)

    def _follow_vectors(self, index: VectorIndex, number: int) -> None:
        while index.number < number and (
            changes := self._documents.vector_changes(index.space, index.number, _VECTORS_A_STEP)
        ):
            index.apply(changes, changes[-1].number)

    def rebuild_words(self) -> None:
        """Build the words index anew beside the old one, which answers until the new one takes its place."""
        folder = self._folder / f"words-{_generation(self.words.folder) + 1}"
        fresh = LexicalIndex(folder, self._documents.catalog_id)
        self._follow_words(fresh, self._documents.number())
        with self._lock:
            self._follow_words(fresh, self._documents.number())
            old, self.words = self.words, fresh
        old.close()
        shutil.rmtree(old.folder, ignore_errors=True)

    def save(self) -> None:
        """Write the vector snapshots."""
        for index in self._vectors:
            index.save()

    def copy(self, folder: Path) -> int:
        """Write into an empty folder on the same disk what an index folder holds; return the change it stands at.

        Raises OSError, also where the index was tidied up meanwhile: it is simply done again.
        """
        with self._lock:
            self.save()
            number = self.words.copy(folder / self.words.folder.name)
            for path in self._folder.glob("vectors-*"):
                if path.suffix != ".tmp":
                    os.link(path, folder / path.name)
            return number

    def close(self) -> None:
        """Write the snapshots and let the index files go."""
        with self._lock:
            self.save()
            self.words.close()


def _generation(folder: Path) -> int:
    tail = folder.name.rpartition("-")[2]
    return int(tail) if tail.isascii() and tail.isdigit() else 0
