"""The nearest documents that a filter lets through, found in the way that costs least for as many as there are."""

import math

import numpy as np

from embeddings.base import Matrix
from search.latest import Latest
from search.types import Filter, Found, Keys
from search.vectors import VectorIndex
from search.words_state import WordsState

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
        self._keys: Latest[tuple[int, Filter], Keys] = Latest(_REMEMBERED)
        self._counts: Latest[tuple[int, Filter], int] = Latest(_REMEMBERED)

    def nearest(self, index: VectorIndex, vectors: Matrix, depth: int, words: WordsState, allowed: Filter) -> Found:
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
                return Found(near.keys[passed], near.scores[passed])
        keys = self._keys.get(question)
        if keys is None:
            self._keys.put(question, keys := words.keys(allowed))
        return index.search(vectors, depth, keys)
