"""Nearest-neighbour search with a label filter, by whichever method costs less."""

import math

from embeddings.base import Matrix
from search.lexical.reader import LexicalReader
from search.lru_cache import LruCache
from search.steps import step
from search.types import Filter, Keys, Match, among
from search.vectors.base import VectorIndex

_BROAD = 0.2
"""The share of documents passing a filter from which filtering after the search is faster than before it."""

_OVERSAMPLING = 1.5  # factor on the number of neighbours that should be enough at that share
_CACHE_SIZE = 4


class FilteredNeighbours:
    """Finds nearest neighbours that pass a filter. Safe to use from several threads.

    If a filter rejects few documents, as many more neighbours are searched. For another broad filter, more neighbours
    than needed are searched, and the keyword index filters them. Otherwise, or if too few of them pass, the keyword
    index lists all documents that pass, and the vector index searches only these. The list is cached until the catalog
    changes.
    """

    def __init__(self) -> None:
        self._keys: LruCache[tuple[int, Filter], Keys] = LruCache(_CACHE_SIZE)
        self._counts: LruCache[tuple[int, Filter], int] = LruCache(_CACHE_SIZE)

    @step("vector search")
    def nearest(self, index: VectorIndex, vectors: Matrix, depth: int, reader: LexicalReader, allowed: Filter) -> Match:
        """Return at least the `depth` nearest documents to each vector that pass, those of the first vector first."""
        rejected = reader.rejected_keys(allowed)
        if rejected is not None:
            near = index.search(vectors, depth + len(rejected))
            return near.at(~among(near.keys, rejected)) if len(rejected) else near
        cache_key, total = (reader.revision, allowed), len(reader)
        count = self._counts.get(cache_key)
        if count is None:
            self._counts.put(cache_key, count := reader.count(allowed))
        if count >= _BROAD * total:
            near = index.search(vectors, min(math.ceil(_OVERSAMPLING * depth * total / count), total))
            passed = among(near.keys, reader.filter_keys(near.keys, allowed))
            if passed.sum() >= depth * len(vectors):
                return near.at(passed)
        keys = self._keys.get(cache_key)
        if keys is None:
            self._keys.put(cache_key, keys := reader.keys(allowed))
        return index.search(vectors, depth, keys)
