"""The words index: BM25 over one weighted text field, exact names, prefixes and label filters, on tantivy."""

import contextlib
import importlib.metadata
import math
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import tantivy

from search import integrity
from search.text import (
    QUERY_TERMS,
    RECIPE,
    document_analyzer,
    fold,
    folded_names,
    indexed_text,
    joined,
    query_analyzer,
    segmented,
)
from search.types import DocumentGone, DocumentPut, Filter, Found, Keys

_WRITER_MEMORY = 32_000_000
_K1_PLUS_1 = 2.2
NAME_FIELDS = ("id", "name", "joined_name")
_QUERY = tantivy.Query
_MUST, _MUST_NOT, _SHOULD = tantivy.Occur.Must, tantivy.Occur.MustNot, tantivy.Occur.Should


class IndexState(msgspec.Struct):
    """What the index says of itself, stored in it as a document so that it commits with the rest."""

    identity: str
    number: int
    documents: int


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_text_field("text", tokenizer_name="skill", index_option="freq")
    for field in NAME_FIELDS:
        builder.add_text_field(field, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("labels", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("state", tokenizer_name="raw", index_option="basic", stored=True)
    return builder.build()


class IndexNotWritten(Exception):
    """An index could not take over changes, for want of space perhaps; it still answers as of its last commit."""


def words_identity(catalog_id: str) -> str:
    """Return what an index must be of to be used: the catalog, the recipe of texts, the release of tantivy."""
    return f"{catalog_id}/{RECIPE}/{importlib.metadata.version('tantivy')}"


class WordsIndex:
    """A tantivy index in `folder` that follows the changes of one catalog.

    The index remembers the number of the last change it holds (`number`), committed together with it. A folder that
    is missing, damaged, of another catalog or of another text recipe is emptied, and `number` starts at 0.
    One process may have a folder open at a time. Searching is safe from any thread; `apply` is for one at a time.
    """

    def __init__(self, folder: Path, catalog_id: str) -> None:
        self._identity = words_identity(catalog_id)
        self.folder = folder
        self._schema = _schema()
        self._analyzer = document_analyzer()
        self._query_analyzer = query_analyzer()
        self._lock = threading.Lock()
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
        return None if state.documents == len(self) else "its number of documents is wrong"

    def _empty(self, fault: str) -> None:
        self.rebuilt_because = fault
        for name in ("_writer", "_searcher", "_index"):  # frees the folder's lock
            self.__dict__.pop(name, None)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._start()
        self._count = 0
        self._commit(0)

    def _start(self) -> None:
        self._index = tantivy.Index(self._schema, str(self.folder))
        self._index.register_tokenizer("skill", self._analyzer)
        self._writer = self._index.writer(heap_size=_WRITER_MEMORY, num_threads=1)
        self._searcher = self._index.searcher()

    def _read_state(self) -> IndexState:
        found = self._searcher.search(self._term("state", "state"), 1, count=False).hits
        if not found:
            raise ValueError("it holds no state")
        stored = self._searcher.doc(found[0][1]).get_all("state")
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
        self._searcher = self._index.searcher()
        self.number = number

    def __len__(self) -> int:
        """Return how many documents can be found."""
        return self._searcher.num_docs - 1

    def __contains__(self, key: int) -> bool:
        return len(self._top(self._key_term(key), 1).keys) > 0

    def _key_term(self, key: int) -> tantivy.Query:
        return _QUERY.term_query(self._schema, "key", key, "basic")

    def apply(self, changes: Sequence[DocumentPut | DocumentGone], number: int) -> None:
        """Take over `changes`, at most one a document; the index then stands at change `number`.

        Durable and searchable on return. Raises IndexNotWritten; the next call tries again.
        """
        with self._lock:
            if not hasattr(self, "_writer"):
                self._recover()
            try:
                self._take(changes)
                self._commit(number)
            except (ValueError, OSError, AttributeError) as error:
                self._recover()
                raise IndexNotWritten(f"the words index could not be written: {error}") from error

    def _take(self, changes: Sequence[DocumentPut | DocumentGone]) -> None:
        fresh = self._count == 0
        for change in changes:
            key = change.document.key if isinstance(change, DocumentPut) else change.key
            if not fresh and key in self:
                # By query: deleting by the term of an unsigned field deletes nothing, in silence.
                self._writer.delete_documents_by_query(self._key_term(key))
                self._count -= 1
            if isinstance(change, DocumentPut):
                self._writer.add_document(self._document(change))
                self._count += 1

    def _recover(self) -> None:
        """Go back to the last commit with a writer of its own: a failed one takes nothing any more."""
        with contextlib.suppress(AttributeError):
            del self._writer
        with contextlib.suppress(ValueError, OSError):
            self._start()
            self._count = self._read_state().documents

    def _document(self, change: DocumentPut) -> tantivy.Document:
        document = tantivy.Document()
        document.add_unsigned("key", change.document.key)
        document.add_text("text", indexed_text(change.document))
        document.add_text("id", fold(change.document.id))
        for name in folded_names(change.document):
            document.add_text("name", name)
            document.add_text("joined_name", joined(name))
        for label in change.document.labels:
            document.add_text("labels", label)
        return document

    def _term(self, field: str, value: str) -> tantivy.Query:
        return _QUERY.term_query(self._schema, field, value, "basic")

    def terms(self, query: str) -> list[str]:
        """Return the terms of a query as the index knows them, each once.

        Stop words are among them only where there is nothing else.
        """
        text = segmented(query)
        terms = self._query_analyzer.analyze(text) or self._analyzer.analyze(text)
        return list(dict.fromkeys(terms))[:QUERY_TERMS]

    def search(self, terms: Sequence[str], limit: int, allowed: Filter) -> Found:
        """Return the best documents for `terms` by BM25, best first. No term: no result."""
        if not terms:
            return Found.nothing()
        wanted = [(_SHOULD, _QUERY.term_query(self._schema, "text", term, "freq")) for term in terms]
        return self._top(self._restricted(_QUERY.boolean_query(wanted), allowed), limit)

    def named(self, folded: str, limit: int, allowed: Filter) -> list[int]:
        """Return the keys of documents whose name is `folded`, ascending.

        Those of which it is the id count before those of which it is a name, and these before those of which it is a
        name but for the spaces: the first kind there is, is the answer.
        """
        for field, name in zip(NAME_FIELDS, (folded, folded, joined(folded)), strict=True):
            if found := self._with_name(field, name, limit, allowed):
                return found
        return []

    def _with_name(self, field: str, name: str, limit: int, allowed: Filter) -> list[int]:
        if not self._searcher.doc_freq(field, name):
            return []
        return sorted(self._top(self._restricted(self._term(field, name), allowed), limit).keys.tolist())

    def named_with_prefix(self, folded: str, limit: int, allowed: Filter) -> list[int]:
        """Return the keys of documents with a name that begins with `folded`, shortest names first."""
        names = [name for name, _ in self._searcher.terms_with_prefix("name", folded, limit=4 * limit)]
        keys: dict[int, None] = {}
        for name in sorted(names, key=len)[:limit]:
            keys.update(dict.fromkeys(self._with_name("name", name, limit, allowed)))
        return list(keys)[:limit]

    def keys(self, allowed: Filter) -> Keys:
        """Return the keys of all documents that `allowed` lets through, in no order."""
        return self._top(self._let_through(allowed), max(1, self._searcher.num_docs)).keys

    def count(self, allowed: Filter) -> int:
        """Return how many documents `allowed` lets through."""
        found = self._searcher.search(self._let_through(allowed), 1, count=True)
        return int(found.count)  # type: ignore[attr-defined]  # missing in the stubs

    def among(self, keys: Keys, allowed: Filter) -> Keys:
        """Return those of `keys` that `allowed` lets through, in no order."""
        query = _QUERY.term_set_query(self._schema, "key", np.unique(keys).tolist())
        return self._top(self._restricted(query, allowed), max(1, len(keys))).keys

    def _let_through(self, allowed: Filter) -> tantivy.Query:
        return self._restricted(_QUERY.exists_query("key"), allowed)

    def restricts(self, allowed: Filter) -> bool:
        """Return whether `allowed` may keep any document out."""
        return bool(allowed.groups) or any(self._searcher.doc_freq("labels", label) for label in allowed.without)

    def ceiling(self, terms: Sequence[str]) -> float:
        """Return the score no document can exceed for `terms`: (k1 + 1) x the sum of their idf.

        Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with tantivy's k1 = 1.2 and idf.
        """
        total = self._searcher.num_docs
        found = (self._searcher.doc_freq("text", term) for term in terms)
        return _K1_PLUS_1 * sum(math.log1p((total - min(one, total) + 0.5) / (one + 0.5)) for one in found)

    def _restricted(self, query: tantivy.Query, allowed: Filter) -> tantivy.Query:
        parts = [(_MUST, query)]
        for group in allowed.groups:
            options = [(_SHOULD, self._term("labels", label)) for label in group]
            parts.append((_MUST, _QUERY.const_score_query(_QUERY.boolean_query(options), 0.0)))
        parts += [
            (_MUST_NOT, self._term("labels", label))
            for label in allowed.without
            if self._searcher.doc_freq("labels", label)
        ]
        return _QUERY.boolean_query(parts) if len(parts) > 1 else query

    def _top(self, query: tantivy.Query, limit: int) -> Found:
        searcher = self._searcher
        hits = searcher.search(query, limit, count=False).hits
        keys = searcher.fast_field_values("key", [address for _, address in hits])
        scores = np.fromiter((score for score, _ in hits), np.float32, len(hits))
        return Found(np.array(keys, np.int64), scores)

    def close(self) -> None:
        """Finish background merges and let the folder go; searches under way still end well."""
        with self._lock:
            self._writer.wait_merging_threads()
            del self._writer
