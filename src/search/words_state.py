"""One state of the words index, searched by BM25, by exact names and by labels: what is saved and what came since."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import tantivy

from search.text import joined
from search.types import Filter, Found, Keys
from search.words_schema import NAME_FIELDS, SCHEMA, query_terms

_K1_PLUS_1 = 2.2
_QUERY = tantivy.Query
_MUST, _MUST_NOT, _SHOULD = tantivy.Occur.Must, tantivy.Occur.MustNot, tantivy.Occur.Should


class WordsState:
    """The documents of `saved`, but for those with a key in `replaced`, and those of `fresh`, as of change `number`.

    It never changes, and is safe to use from any thread. Scores are as if all documents were in one index: the weight
    of a term follows from how many have it in both.
    """

    def __init__(
        self,
        number: int,
        saved: tantivy.Searcher,
        replaced: Sequence[int] = (),
        fresh: tantivy.Searcher | None = None,
    ) -> None:
        self.number = number
        self._parts = (saved,) if fresh is None or not fresh.num_docs else (saved, fresh)
        self._replaced = _QUERY.term_set_query(SCHEMA, "key", list(replaced)) if replaced else None
        # One document of what is saved says which change it stands at.
        self._count = sum(part.num_docs for part in self._parts) - 1 - len(replaced)

    def __len__(self) -> int:
        """Return how many documents can be found."""
        return self._count

    def __contains__(self, key: int) -> bool:
        return bool(len(self.among(np.array([key]), Filter())))

    @staticmethod
    def terms(query: str) -> list[str]:
        """Return the terms of a query as the index knows them, each once.

        Stop words are among them only where there is nothing else.
        """
        return query_terms(query)

    def search(self, terms: Sequence[str], limit: int, allowed: Filter) -> Found:
        """Return the best documents for `terms` by BM25, best first. No term: no result."""
        if not terms:
            return Found.nothing()
        found = []
        for part in self._parts:
            query = _QUERY.boolean_query([(_SHOULD, self._weighted(part, term)) for term in terms])
            found.append(_top(part, self._restricted(part, query, allowed), limit))
        if len(found) == 1:
            return found[0]
        keys = np.concatenate([one.keys for one in found])
        scores = np.concatenate([one.scores for one in found])
        best = np.argsort(-scores, kind="stable")[:limit]
        return Found(keys[best], scores[best])

    def _weighted(self, part: tantivy.Searcher, term: str) -> tantivy.Query:
        """Return the query for a term, which in this part counts as much as it should among all documents."""
        query = _QUERY.term_query(SCHEMA, "text", term, "freq")
        having = part.doc_freq("text", term)
        if len(self._parts) == 1 or not having:
            return query
        return _QUERY.boost_query(query, self._idf(term) / _idf(part.num_docs, having))

    def _idf(self, term: str) -> float:
        return _idf(sum(part.num_docs for part in self._parts), self._having("text", term))

    def _having(self, field: str, term: str) -> int:
        """Return how many documents have a term; those that were replaced still count."""
        return sum(part.doc_freq(field, term) for part in self._parts)

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
        return sorted(self._matching(_term(field, name), limit, allowed).tolist())[:limit]

    def named_with_prefix(self, folded: str, limit: int, allowed: Filter) -> list[int]:
        """Return the keys of documents with a name that begins with `folded`, shortest names first."""
        names = {
            name for part in self._parts for name, _ in part.terms_with_prefix("name", folded, limit=4 * limit)
        }  # fmt: skip
        keys: dict[int, None] = {}
        for name in sorted(names, key=lambda name: (len(name), name))[:limit]:
            keys.update(dict.fromkeys(self._with_name("name", name, limit, allowed)))
        return list(keys)[:limit]

    def keys(self, allowed: Filter) -> Keys:
        """Return the keys of all documents that `allowed` lets through, in no order."""
        return self._matching(_QUERY.exists_query("key"), max(1, self._count), allowed)

    def count(self, allowed: Filter) -> int:
        """Return how many documents `allowed` lets through."""
        every = _QUERY.exists_query("key")
        found = (part.search(self._restricted(part, every, allowed), 1, count=True) for part in self._parts)
        return sum(one.count for one in found)  # type: ignore[attr-defined]  # not what the stubs say

    def among(self, keys: Keys, allowed: Filter) -> Keys:
        """Return those of `keys` that `allowed` lets through, in no order."""
        query = _QUERY.term_set_query(SCHEMA, "key", np.unique(keys).tolist())
        return self._matching(query, max(1, len(keys)), allowed)

    def restricts(self, allowed: Filter) -> bool:
        """Return whether `allowed` may keep any document out."""
        return bool(allowed.groups) or any(self._having("labels", label) for label in allowed.without)

    def ceiling(self, terms: Iterable[str]) -> float:
        """Return the score no document can exceed for `terms`: (k1 + 1) x the sum of their idf.

        Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with tantivy's k1 = 1.2 and idf.
        """
        return _K1_PLUS_1 * sum(self._idf(term) for term in terms)

    def _restricted(self, part: tantivy.Searcher, query: tantivy.Query, allowed: Filter) -> tantivy.Query:
        parts = [(_MUST, query)]
        for group in allowed.groups:
            options = [(_SHOULD, _term("labels", label)) for label in group]
            parts.append((_MUST, _QUERY.const_score_query(_QUERY.boolean_query(options), 0.0)))
        parts += [
            (_MUST_NOT, _term("labels", label)) for label in allowed.without if part.doc_freq("labels", label)
        ]  # fmt: skip
        if self._replaced is not None and part is self._parts[0]:
            parts.append((_MUST_NOT, self._replaced))
        return _QUERY.boolean_query(parts) if len(parts) > 1 else query

    def _matching(self, query: tantivy.Query, limit: int, allowed: Filter) -> Keys:
        found = [_top(part, self._restricted(part, query, allowed), limit).keys for part in self._parts]
        return found[0] if len(found) == 1 else np.concatenate(found)


def _term(field: str, value: str) -> tantivy.Query:
    return _QUERY.term_query(SCHEMA, field, value, "basic")


def _idf(documents: int, having: int) -> float:
    """Return what a term weighs that so many documents have: tantivy's idf."""
    return math.log1p((documents - min(having, documents) + 0.5) / (having + 0.5))


def _top(part: tantivy.Searcher, query: tantivy.Query, limit: int) -> Found:
    hits = part.search(query, limit, count=False).hits
    keys = part.fast_field_values("key", [address for _, address in hits])
    scores = np.fromiter((score for score, _ in hits), np.float32, len(hits))
    return Found(np.array(keys, np.int64), scores)
