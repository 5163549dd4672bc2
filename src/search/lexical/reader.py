"""One state of the words index, searched by BM25, by exact names and by labels: what is saved and what came since."""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np
import tantivy

from search.lexical.memory_segment import NOTHING_FRESH, MemorySegment
from search.lexical.schema import NAME_FIELDS, SCHEMA, has_key, query_terms
from search.text import joined
from search.types import Filter, Keys, Match

_K1_PLUS_1 = 2.2
_QUERY = tantivy.Query
_EVERY = _QUERY.exists_query("key")
_MUST, _MUST_NOT, _SHOULD = tantivy.Occur.Must, tantivy.Occur.MustNot, tantivy.Occur.Should


class DiskReader:
    """One commit of the index on disk. It never changes, and is safe to use from any thread."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self.searcher = searcher
        self.documents = searcher.num_docs
        """How many documents it has: one of them says which change it stands at."""

    @functools.cached_property
    def mean_length(self) -> float:
        """The mean length of documents, in terms, which only an explanation of a score tells."""
        for term, _ in self.searcher.terms_with_prefix("text", "", limit=1):
            query = _QUERY.term_query(SCHEMA, "text", term, "freq")
            for _, address in self.searcher.search(query, 1, count=False).hits:
                told = msgspec.json.decode(query.explain(self.searcher, address).to_json(), type=_Explanation)
                return next(told.values("avgdl"))
        return 0.0

    def having(self, keys: Iterable[int]) -> list[int]:
        """Return those of the keys that a document has."""
        return [key for key in keys if has_key(self.searcher, key)]


class _Explanation(msgspec.Struct):
    value: float
    description: str
    details: "list[_Explanation]" = []

    def values(self, name: str) -> Iterator[float]:
        if self.description.startswith(name):
            yield self.value
        for detail in self.details:
            yield from detail.values(name)


class LexicalReader:
    """The documents of `saved`, but for those with a key in `replaced`, and those of `fresh`, as of change `number`.

    It never changes, and is safe to use from any thread. Scores are as if all documents were in one index.
    """

    def __init__(
        self, number: int, saved: DiskReader, replaced: Sequence[int] = (), fresh: MemorySegment = NOTHING_FRESH
    ) -> None:
        self.number = number
        self._saved = saved
        self._searcher = saved.searcher
        self._fresh = fresh
        self._replaced = _QUERY.term_set_query(SCHEMA, "key", list(replaced)) if replaced else None
        self._total = saved.documents + len(fresh)
        self._count = self._total - 1 - len(replaced)

    def __len__(self) -> int:
        """Return how many documents can be found."""
        return self._count

    @staticmethod
    def terms(query: str) -> list[str]:
        """Return the terms of a query as the index knows them, each once.

        Stop words are among them only where there is nothing else.
        """
        return query_terms(query)

    def search(self, terms: Sequence[str], limit: int, allowed: Filter) -> Match:
        """Return the best documents for `terms` by BM25, best first. No term: no result."""
        if not terms:
            return Match.nothing()
        query = _QUERY.boolean_query([(_SHOULD, self._weighted(term)) for term in terms])
        found = self._top(query, limit, allowed)
        if not self._fresh:
            return found
        length = (self._saved.mean_length * self._saved.documents + self._fresh.length) / self._total
        weights = {term: _K1_PLUS_1 * self._idf(term) for term in terms}
        fresh = self._fresh.search(weights, length, allowed)
        keys, scores = np.concatenate((found.keys, fresh.keys)), np.concatenate((found.scores, fresh.scores))
        best = np.argsort(-scores, kind="stable")[:limit]
        return Match(keys[best], scores[best])

    def _weighted(self, term: str) -> tantivy.Query:
        """Return the query for a term, which among what is saved weighs what it should among all documents."""
        query = _QUERY.term_query(SCHEMA, "text", term, "freq")
        if not self._fresh or not (having := self._searcher.doc_freq("text", term)):
            return query
        return _QUERY.boost_query(query, self._idf(term) / _idf(self._saved.documents, having))

    def _idf(self, term: str) -> float:
        return _idf(self._total, self._having("text", term))

    def _having(self, field: str, value: str) -> int:
        """Return how many documents have a value; those that were replaced still count."""
        having: int = self._searcher.doc_freq(field, value)
        return having + self._fresh.having(field, value) if self._fresh else having

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
        if not self._having(field, name):
            return []
        saved = self._top(_term(field, name), limit, allowed).keys.tolist()
        return sorted(saved + self._fresh.with_value(field, name, allowed))[:limit]

    def named_with_prefix(self, folded: str, limit: int, allowed: Filter) -> list[int]:
        """Return the keys of documents with a name that begins with `folded`, shortest names first."""
        names = {name for name, _ in self._searcher.terms_with_prefix("name", folded, limit=4 * limit)}
        names |= self._fresh.names_with_prefix(folded)
        keys: dict[int, None] = {}
        for name in sorted(names, key=lambda name: (len(name), name))[:limit]:
            keys.update(dict.fromkeys(self._with_name("name", name, limit, allowed)))
        return list(keys)[:limit]

    def keys(self, allowed: Filter) -> Keys:
        """Return the keys of all documents that `allowed` lets through, in no order."""
        return self._plus_fresh(self._top(_EVERY, self._saved.documents, allowed).keys, self._fresh.keys(allowed))

    def count(self, allowed: Filter) -> int:
        """Return how many documents `allowed` lets through."""
        found = self._searcher.search(self._restricted(_EVERY, allowed), 1, count=True)
        return int(found.count) + len(self._fresh.keys(allowed))  # type: ignore[attr-defined]  # missing in the stubs

    def among(self, keys: Keys, allowed: Filter) -> Keys:
        """Return those of `keys` that `allowed` lets through, in no order."""
        query = _QUERY.term_set_query(SCHEMA, "key", np.unique(keys).tolist())
        fresh = np.intersect1d(keys, np.array(self._fresh.keys(allowed), np.int64))
        return self._plus_fresh(self._top(query, max(1, len(keys)), allowed).keys, fresh)

    @staticmethod
    def _plus_fresh(keys: Keys, fresh: Sequence[int] | Keys) -> Keys:
        return np.concatenate((keys, np.array(fresh, np.int64))) if len(fresh) else keys

    def restricts(self, allowed: Filter) -> bool:
        """Return whether `allowed` may keep any document out."""
        return bool(allowed.groups) or any(self._having("labels", label) for label in allowed.without)

    def ceiling(self, terms: Iterable[str]) -> float:
        """Return the score no document can exceed for `terms`: (k1 + 1) x the sum of their idf.

        Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with tantivy's k1 = 1.2 and idf.
        """
        return _K1_PLUS_1 * sum(self._idf(term) for term in terms)

    def _restricted(self, query: tantivy.Query, allowed: Filter) -> tantivy.Query:
        parts = [(_MUST, query)]
        for group in allowed.groups:
            options = [(_SHOULD, _term("labels", label)) for label in group]
            parts.append((_MUST, _QUERY.const_score_query(_QUERY.boolean_query(options), 0.0)))
        parts += [
            (_MUST_NOT, _term("labels", label)) for label in allowed.without if self._searcher.doc_freq("labels", label)
        ]
        if self._replaced is not None:
            parts.append((_MUST_NOT, self._replaced))
        return _QUERY.boolean_query(parts) if len(parts) > 1 else query

    def _top(self, query: tantivy.Query, limit: int, allowed: Filter) -> Match:
        """Return the best of what is saved, best first."""
        hits = self._searcher.search(self._restricted(query, allowed), limit, count=False).hits
        keys = self._searcher.fast_field_values("key", [address for _, address in hits])
        scores = np.fromiter((score for score, _ in hits), np.float32, len(hits))
        return Match(np.array(keys, np.int64), scores)


def _term(field: str, value: str) -> tantivy.Query:
    return _QUERY.term_query(SCHEMA, field, value, "basic")


def _idf(documents: int, having: int) -> float:
    """Return what a term weighs that so many documents have: tantivy's idf."""
    return math.log1p((documents - min(having, documents) + 0.5) / (having + 0.5))
