"""The words index: what is new can be found at once, in memory, and is saved to the disk a moment later."""

import contextlib
import logging
import threading
from collections.abc import Sequence
from pathlib import Path

from search import integrity
from search.lexical.disk_segment import DiskSegment, IndexNotWritten
from search.lexical.memory_segment import MemoryDocument, MemorySegment, fresh_document
from search.lexical.reader import DiskReader, LexicalReader
from search.types import DocumentGone, DocumentPut

_log = logging.getLogger("search")

UNSAVED = 200
"""So many changed documents may wait to be saved: more are saved before they can be found."""

SAVED_AFTER_SECONDS = 1.0
"""How long what is new waits for more that can be saved with it."""

_Changes = dict[int, DocumentPut | DocumentGone]


class LexicalIndex:
    """The documents of one catalog as of a change, `state.number`, in memory and in `folder`.

    A commit to the disk waits for the disk several times, and a search that has to find what was just written waits
    for the commit. So a few changes are kept in memory first, searched together with the index on disk, and a thread
    saves them. What a crash takes is read from the catalog again, as the folder knows its own number.
    One process may have a folder open at a time. Searching is safe from any thread; `apply` is for one at a time.
    """

    def __init__(self, folder: Path, catalog_id: str) -> None:
        self.folder = folder
        self._disk = DiskSegment(folder, catalog_id)
        self.rebuilt_because = self._disk.rebuilt_because
        self._saved = DiskReader(self._disk.searcher)
        self.state = LexicalReader(self._disk.number, self._saved)
        self._unsaved: _Changes = {}
        self._fresh: dict[int, MemoryDocument] = {}
        self._lock = threading.Lock()  # of what is in memory; whoever also saves takes _saving first
        self._saving = threading.Lock()
        self._closing = threading.Event()
        self._saver: threading.Thread | None = None

    def apply(self, changes: Sequence[DocumentPut | DocumentGone], number: int) -> None:
        """Take over `changes`, at most one a document; the index then stands at change `number`.

        Searchable on return. Raises IndexNotWritten where there is too much to wait in memory and it cannot be
        saved; the next call tries again.
        """
        latest = {_key(change): change for change in changes}
        if len(self._unsaved.keys() | latest.keys()) > UNSAVED:
            self._save(latest, number)
            return
        fresh = {key: fresh_document(one.document) for key, one in latest.items() if isinstance(one, DocumentPut)}
        with self._lock:
            self._unsaved |= latest
            self._fresh |= fresh
            self._show(number)
            if self._saver is None:
                self._saver = threading.Thread(target=self._save_later, name="save-words", daemon=True)
                self._saver.start()

    def _show(self, number: int) -> None:
        """Let what is unsaved be found as it is in memory, and not as it is on the disk."""
        fresh = [self._fresh[key] for key, one in self._unsaved.items() if isinstance(one, DocumentPut)]
        self.state = LexicalReader(number, self._saved, self._saved.having(self._unsaved), MemorySegment(fresh))

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
            if number > self._disk.number:
                self._disk.apply(todo.values(), number)
            with self._lock:  # what came meanwhile is all that is still unsaved
                self._unsaved = {key: one for key, one in self._unsaved.items() if one.number > number}
                self._fresh = {key: one for key, one in self._fresh.items() if key in self._unsaved}
                self._saved = DiskReader(self._disk.searcher)
                self._show(max(number, self.state.number))

    def copy(self, folder: Path) -> int:
        """Write what can be saved into a new folder on the same disk; return the change it stands at.

        Raises OSError where a merge takes files away: it is simply done again.
        """
        with contextlib.suppress(IndexNotWritten):
            self.save()
        with self._saving:
            integrity.link_tantivy(self.folder, folder)
            return self._disk.number

    def close(self) -> None:
        """Save everything and let the folder go; searches under way still end well."""
        self._closing.set()
        if (saver := self._saver) is not None:
            saver.join()
        with contextlib.suppress(IndexNotWritten):  # the next start reads it from the catalog
            self.save()
        self._disk.close()


def _key(change: DocumentPut | DocumentGone) -> int:
    return change.document.key if isinstance(change, DocumentPut) else change.key
