"""The nearest documents that a filter lets through, found in the way that costs least for as many as there are."""

import math

import numpy as np

from embeddings.base import Matrix
from search.lexical.reader import LexicalReader
from search.lru_cache import LruCache
from search.types import Filter, Keys, Match
from search.vectors.base import VectorIndex

_BROAD = 0.2
"""Share of documents let through from which on it is quicker to leave others out afterwards than to name those."""

_SPARE = 1.5  # so many times as many neighbours are looked up as should be enough by that share
_REMEMBERED = 4


class FilteredNeighbours:
    """Looks up neighbours under filters. Safe to use from several threads.

    Of a broad filter, more neighbours than wanted are looked up and the words index says which of them pass. Otherwise,
    and where those near the query hardly pass, the words index names all that do, which is remembered until the catalog
    changes, and the vector index looks at no others.
    """

    def __init__(self) -> None:
        self._keys: LruCache[tuple[int, Filter], Keys] = LruCache(_REMEMBERED)
        self._counts: LruCache[tuple[int, Filter], int] = LruCache(_REMEMBERED)

    def nearest(self, index: VectorIndex, vectors: Matrix, depth: int, words: LexicalReader, allowed: Filter) -> Match:
        """Return at least the `depth` nearest to each vector that pass, by cosine, those of the first one first."""
        if not words.restricts(allowed):
            return index.search(vectors, depth)
        question, total = (words.number, allowed), len(words)
        count = self._counts.get(question)
        if count is None:
            self._counts.put(question, count := words.count(allowed))
        if count >= _BROAD * total:
            near = index.search(vectors, min(math.ceil(_SPARE * depth * total / count), total))
            passed = np.isin(near.keys, words.among(near.keys, allowed))
            if passed.sum() >= depth * len(vectors):
                return Match(near.keys[passed], near.scores[passed])
        keys = self._keys.get(question)
        if keys is None:
            self._keys.put(question, keys := words.keys(allowed))
        return index.search(vectors, depth, keys)
