"""The words index: what is new can be found at once, in memory, and is saved to the disk a moment later."""

import contextlib
import logging
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from search import integrity
from search.saved_words import IndexNotWritten, SavedWords
from search.types import DocumentGone, DocumentPut
from search.words_schema import document_of, has_key, key_query, open_index
from search.words_state import WordsState

_log = logging.getLogger("search")

UNSAVED = 200
"""So many changed documents may wait to be saved: more are saved before they can be found."""

SAVED_AFTER_SECONDS = 1.0
"""How long what is new waits for more that can be saved with it."""

_FRESH_MEMORY = 15_000_000  # the least that tantivy takes

_Changes = dict[int, DocumentPut | DocumentGone]


class WordsIndex:
    """The documents of one catalog as of a change, `state.number`, in memory and in `folder`.

    A commit to the disk waits for the disk several times, and a search that has to find what was just written waits
    for the commit. So a few changes go into an index in memory first, which is searched together with the one on disk,
    and a thread saves them. What a crash takes is read from the catalog again, as the folder knows its own number.
    One process may have a folder open at a time. Searching is safe from any thread; `apply` is for one at a time.
    """

    def __init__(self, folder: Path, catalog_id: str) -> None:
        self.folder = folder
        self._saved = SavedWords(folder, catalog_id)
        self.rebuilt_because = self._saved.rebuilt_because
        self.state = WordsState(self._saved.number, self._saved.searcher)
        self._on_disk = self._saved.searcher
        self._unsaved: _Changes = {}
        self._replaced: set[int] = set()
        self._fresh = _Fresh()
        self._lock = threading.Lock()  # of what is in memory; whoever also saves takes _saving first
        self._saving = threading.Lock()
        self._closing = threading.Event()
        self._saver: threading.Thread | None = None

    def apply(self, changes: Sequence[DocumentPut | DocumentGone], number: int) -> None:
        """Take over `changes`, at most one a document; the index then stands at change `number`.

        Searchable on return. Raises IndexNotWritten where there is too much to wait in memory and it cannot be
        saved; the next call tries again.
        """
        latest = _by_key(changes)
        if len(self._unsaved.keys() | latest.keys()) > UNSAVED:
            self._save(latest, number)
            return
        with self._lock:
            self._unsaved |= latest
            self._fresh.apply(latest)
            self._show(latest, number)
            if self._saver is None and self._unsaved:
                self._saver = threading.Thread(target=self._save_later, name="save-words", daemon=True)
                self._saver.start()

    def _show(self, changes: Iterable[int], number: int) -> None:
        """Let the documents with these keys be found as they are in memory now, and not as they are on the disk."""
        self._replaced.update(key for key in changes if has_key(self._on_disk, key))
        self.state = WordsState(number, self._on_disk, sorted(self._replaced), self._fresh.searcher)

    def _save_later(self) -> None:
        while not self._closing.wait(SAVED_AFTER_SECONDS):
            try:
                self.save()
            except IndexNotWritten as error:
                _log.warning("%s; what is new is found all the same, and it is tried again", error)
            with self._lock:
                if not self._unsaved:
                    self._saver = None
                    return

    def save(self) -> None:
        """Save what has changed so far. Raises IndexNotWritten."""
        self._save({}, self.state.number)

    def _save(self, more: _Changes, number: int) -> None:
        """Save what waits for it, and `more`, as change `number`."""
        with self._saving:
            with self._lock:
                todo, number = self._unsaved | more, max(number, self.state.number)
            if number > self._saved.number:
                self._saved.apply(todo.values(), number)
            with self._lock:  # what came meanwhile is all that is still unsaved
                self._unsaved = {key: one for key, one in self._unsaved.items() if one.number > number}
                self._fresh.become(self._unsaved)
                self._on_disk, self._replaced = self._saved.searcher, set()
                self._show(self._unsaved, max(number, self.state.number))

    def copy(self, folder: Path) -> int:
        """Write what can be saved into a new folder on the same disk; return the change it stands at.

        Raises OSError where a merge takes files away: it is simply done again.
        """
        with contextlib.suppress(IndexNotWritten):
            self.save()
        with self._saving:
            integrity.link_tantivy(self.folder, folder)
            return self._saved.number

    def close(self) -> None:
        """Save everything and let the folder go; searches under way still end well."""
        self._closing.set()
        if (saver := self._saver) is not None:
            saver.join()
        with contextlib.suppress(IndexNotWritten):  # the next start reads it from the catalog
            self.save()
        self._saved.close()


class _Fresh:
    """An index in memory. It takes room and threads from its first document on."""

    def __init__(self) -> None:
        self._index = open_index(None)
        self.searcher = self._index.searcher()

    def apply(self, changes: _Changes) -> None:
        """Take over changes, searchable on return."""
        if not hasattr(self, "_writer"):
            self._writer = self._index.writer(heap_size=_FRESH_MEMORY, num_threads=1)
        for key, change in changes.items():
            # By query: deleting by the term of an unsigned field deletes nothing, in silence.
            self._writer.delete_documents_by_query(key_query(key))
            if isinstance(change, DocumentPut):
                self._writer.add_document(document_of(change))
        self._writer.commit()
        self._index.reload()
        self.searcher = self._index.searcher()

    def become(self, changes: _Changes) -> None:
        """Hold what these changes leave, and nothing else."""
        if self.searcher.num_docs:
            self._writer.delete_all_documents()
            self.apply(changes)


def _by_key(changes: Sequence[DocumentPut | DocumentGone]) -> _Changes:
    return {change.document.key if isinstance(change, DocumentPut) else change.key: change for change in changes}
