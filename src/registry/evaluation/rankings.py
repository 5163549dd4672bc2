"""The rankings that are measured: those of the service, and simple ones to compare with.

The simple ones are computed from the BM25 scores of the keyword index and exact cosines, without the service's fusion,
names and sentences.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from registry.evaluation.corpus_index import CorpusIndex, IncompleteIndex
from registry.evaluation.measures import DEPTH
from search.modes import Mode
from search.requests import SearchRequest, SemanticUnavailable
from search.types import Filter

CANDIDATES = 200
"""The number of documents that words and vectors each contribute to the simple rankings."""

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""

CONVEX_WEIGHT = 0.5
"""The weight of the vectors in the simple hybrid: a sum of scores that are scaled to 0 to 1 for each query."""

Rank = Callable[[str], list[str]]
"""Returns the ids of the best documents for a query, best first."""

Scores = dict[int, float]


def rankings(index: CorpusIndex) -> dict[str, Rank]:
    """Return the rankings by name. Without an embedder, only `keyword`."""
    if index.embedder is None:
        return {"keyword": _service(index, "keyword")}
    simple = _Signals(index)
    return {
        "keyword": _service(index, "keyword"),
        "vectors": _service(index, "semantic"),
        "rrf": _simple(simple, reciprocal_rank_fusion),
        "simple hybrid": _simple(simple, convex_combination),
        "hybrid": _service(index, "hybrid"),
    }


def _service(index: CorpusIndex, mode: Mode) -> Rank:
    """Return the ranking of the service in one mode. It raises IncompleteIndex if a query has no vector."""

    def rank(query: str) -> list[str]:
        try:
            results = index.engine.search.search(SearchRequest(query, limit=DEPTH, mode=mode, groups=False))
        except SemanticUnavailable as error:
            raise IncompleteIndex(str(error)) from error
        if results.warnings:  # a search without vectors would count as one with them
            raise IncompleteIndex("; ".join(results.warnings))
        return [index.ids[hit.key] for hit in results.hits]

    return rank


class _Signals:
    """The best documents by words and by vectors. Those of the last query are kept: two rankings need them."""

    def __init__(self, index: CorpusIndex) -> None:
        self.ids = index.ids
        self._index = index
        self._last: tuple[str, tuple[Scores, Scores]] = ("", ({}, {}))

    def __call__(self, query: str) -> tuple[Scores, Scores]:
        if self._last[0] != query:
            self._last = (query, (self._words(query), self._cosines(query)))
        return self._last[1]

    def _words(self, query: str) -> Scores:
        reader = self._index.engine.index_sync.lexical.reader
        match = reader.search(reader.terms(query), CANDIDATES, Filter())
        return dict(zip(match.keys.tolist(), match.scores.tolist(), strict=True))

    def _cosines(self, query: str) -> Scores:
        embedder, keys, vectors = self._index.embedder, self._index.vector_keys, self._index.vectors
        if embedder is None or keys is None or vectors is None:
            return {}
        cosines: NDArray[np.float32] = vectors @ embedder.queries([query])[0]
        best = np.argsort(-cosines, kind="stable")[:CANDIDATES]
        return dict(zip(keys[best].tolist(), cosines[best].tolist(), strict=True))


def _simple(signals: _Signals, fused: Callable[[Scores, Scores], Scores]) -> Rank:
    """Return the ranking by a function of both scores; equal scores are ordered by key."""

    def rank(query: str) -> list[str]:
        scores = fused(*signals(query))
        best = sorted(scores, key=lambda key: (-scores[key], key))[:DEPTH]
        return [signals.ids[key] for key in best]

    return rank


def reciprocal_rank_fusion(words: Mapping[int, float], cosines: Mapping[int, float]) -> Scores:
    """Return the sum of 1 / (k + rank) of each document."""
    fused: Scores = {}
    for scores in (words, cosines):
        for rank, key in enumerate(sorted(scores, key=lambda key: (-scores[key], key)), 1):
            fused[key] = fused.get(key, 0.0) + 1 / (RRF_K + rank)
    return fused


def convex_combination(words: Mapping[int, float], cosines: Mapping[int, float]) -> Scores:
    """Return the weighted sum of both scores, each scaled to 0 to 1. A document that one lacks has 0 there."""
    scaled_words, scaled_cosines = _min_max(words), _min_max(cosines)
    return {
        key: (1 - CONVEX_WEIGHT) * scaled_words.get(key, 0.0) + CONVEX_WEIGHT * scaled_cosines.get(key, 0.0)
        for key in scaled_words | scaled_cosines
    }


def _min_max(scores: Mapping[int, float]) -> Scores:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {key: (score - low) / (high - low) if high > low else 1.0 for key, score in scores.items()}
