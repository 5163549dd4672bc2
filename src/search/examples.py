"""Learning from use: what the example queries of a skill do to its vector and to its keyword score.

An example is a query for which somebody chose the skill. Examples pull the skill's vector towards their centroid, and
their words count as evidence. Queries are nearer to queries than to descriptions, so skills with examples would rank
above skills that nobody has used yet. Two corrections prevent that: the vector becomes shorter the less its parts
agree, and each used skill starts below zero by the mean gain of a use.

The constants were chosen with half of MetaTool's example queries as uses and the other half as queries.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from embeddings.base import Matrix, Vector
from search.fusion import Scores
from search.lexical.concurrent_query import LexicalQuery
from search.lexical.schema import query_terms
from search.types import Document, DocumentGone, DocumentPut, Example, Keys

MORE_CANDIDATES = 20
"""The number of documents that only the words of examples found and that the fusion considers too."""

_PRIOR_USES = 1.0  # a description weighs as much in a vector as one use
_SHORTENING = 0.5  # 1 for unit vectors, 0 for the mean of unit vectors
_WORD_PRIOR = 2.0  # uses without a word that are added to those of a skill
_WORD_WEIGHT = 0.5  # the words of examples against those of the skill itself
_MEAN_GAIN = 0.1  # what a use adds to a skill's own queries on average, as a share of the highest keyword score


def uses(examples: Sequence[Example]) -> float:
    """Return the number of uses, each by its weight."""
    return sum(example.weight for example in examples)


def vector_with_examples(description: Vector, examples: Matrix, weights: Sequence[float]) -> Vector:
    """Return the vector of a document from those of its description and its examples, shape (dim,).

    Its length is at most 1, and less the more the parts differ, which lowers all of its cosines.
    """
    total = sum(weights)
    share = total / (total + _PRIOR_USES)
    centroid = np.average(examples, axis=0, weights=weights)
    mean = (1 - share) * description + share * centroid
    shortened: Vector = (mean / max(float(np.linalg.norm(mean)), 1e-6) ** (1 - _SHORTENING)).astype(np.float32)
    return shortened


class _Used(NamedTuple):
    """A document with examples: the offset of its score, and the weight of each term."""

    offset: float
    terms: Mapping[str, float]


def _used(examples: Sequence[Example]) -> _Used:
    counts: Counter[str] = Counter()
    for example in examples:
        for term in set(query_terms(example.text)):
            counts[term] += example.weight  # type: ignore[assignment]  # weights are fractions
    total = uses(examples)
    terms = {term: _WORD_WEIGHT * (count / (total + _WORD_PRIOR)) ** 0.5 for term, count in counts.items()}
    return _Used(_MEAN_GAIN * total / (total + 1), terms)


class ExampleIndex:
    """The words of all examples, in memory. Safe to search from any thread while one thread applies changes."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._used: dict[int, _Used] = {}
        self._by_term: dict[str, dict[int, float]] = {}
        for document in documents:
            self._used[document.key] = used = _used(document.examples)
            for term, weight in used.terms.items():
                self._by_term.setdefault(term, {})[document.key] = weight

    def __len__(self) -> int:
        """Return the number of documents with examples."""
        return len(self._used)

    def apply(self, changes: Iterable[DocumentPut | DocumentGone]) -> None:
        """Replace the examples of changed documents."""
        for change in changes:
            key = change.document.key if isinstance(change, DocumentPut) else change.key
            self._remove(key)
            if isinstance(change, DocumentPut) and change.document.examples:
                self._add(key, _used(change.document.examples))

    def _remove(self, key: int) -> None:
        for term in self._used.pop(key, _Used(0.0, {})).terms:
            # Searches read the old mapping meanwhile, so it is replaced and never changed.
            self._by_term[term] = {other: weight for other, weight in self._by_term[term].items() if other != key}
            if not self._by_term[term]:
                del self._by_term[term]

    def _add(self, key: int, used: _Used) -> None:
        for term, weight in used.terms.items():
            self._by_term[term] = {**self._by_term.get(term, {}), key: weight}
        self._used[key] = used

    def match(self, shares: Mapping[str, float]) -> dict[int, float]:
        """Return the keyword evidence of examples, by document key.

        `shares` has each term's share of the highest keyword score that the query could reach, and so has the result.
        """
        found: dict[int, float] = {}
        for term, share in shares.items():
            for key, weight in self._by_term.get(term, {}).items():
                found[key] = found.get(key, 0.0) + share * weight
        return found

    def gains(self, keys: Keys, matched: Mapping[int, float]) -> Scores:
        """Return what examples add to the coverage of each document, shape (len(keys),); 0 without examples.

        Negative where the words of the query are not those of the examples.
        """
        used = self._used
        gains = [matched.get(key, 0.0) - used[key].offset if key in used else 0.0 for key in keys.tolist()]
        return np.array(gains, np.float64)


def match_examples(index: ExampleIndex, query: LexicalQuery) -> dict[int, float] | None:
    """Return the keyword evidence of examples, by document key; None if no document has examples."""
    if not index:
        return None
    highest = query.reader.ceiling(query.terms)
    return index.match({term: query.reader.ceiling({term: weight}) / highest for term, weight in query.terms.items()})


def allowed_matches(matched: Mapping[int, float] | None, query: LexicalQuery) -> list[int]:
    """Return the keys of the documents whose examples match best and that pass the filter of the query."""
    if not matched:
        return []
    best = sorted(matched, key=lambda key: (-matched[key], key))[:MORE_CANDIDATES]
    return sorted(query.reader.filter_keys(np.array(best, np.int64), query.allowed).tolist())
