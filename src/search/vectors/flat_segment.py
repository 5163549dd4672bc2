"""The flat segment of the vector index: vectors that every search compares, for exact results, in FAISS."""

import functools
from collections.abc import Iterator
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search.types import Flags, Keys

_MIN_DEAD_ROWS = 64  # dead rows that are tolerated whatever their share
_MIN_LIVE_SHARE = 0.875

_MIN_TAIL = 256
"""Rows of the tail that are tolerated whatever the size of the segment: a copy of them takes 0.1 ms ..."""

_TAIL_SHARE = 1 / 16
"""... and their share from which they move to the main index, which is copied then."""


class FlatSegment:
    """Rows of unit vectors: row i is the vector of document `keys[i]`, and is dead unless `live[i]`. Immutable.

    The rows are in two FAISS indexes, first those of `main`, then those of the small `tail`. New rows go to a copy of
    the tail, so a new segment is built while the old one is searched, and a write does not copy all vectors.
    """

    def __init__(self, keys: Keys, live: Flags, main: Any, tail: Any) -> None:
        self.keys, self.live, self._main, self._tail = keys, live, main, tail

    @classmethod
    def empty(cls, dim: int) -> "FlatSegment":
        """Return a segment without rows."""
        return cls.of(np.empty(0, np.int64), np.empty((0, dim), np.float32))

    @classmethod
    def of(cls, keys: Keys, vectors: Matrix) -> "FlatSegment":
        """Return a segment of live rows."""
        dim = vectors.shape[1]
        return cls(
            keys, np.ones(len(keys), np.bool_), _extended(faiss.IndexFlatIP(dim), vectors), faiss.IndexFlatIP(dim)
        )

    @functools.cached_property
    def live_count(self) -> int:
        """The number of live rows."""
        return int(self.live.sum())

    @property
    def dim(self) -> int:
        """The dimension of the vectors."""
        return int(self._main.d)

    def vectors_at(self, rows: Keys) -> Matrix:
        """Return the vectors of rows, shape (len(rows), dimension)."""
        vectors = np.empty((len(rows), self.dim), np.float32)
        for index, start in self._indexes():
            inside = (rows >= start) & (rows < start + index.ntotal)
            vectors[inside] = index.reconstruct_batch(rows[inside] - start)
        return vectors

    def live_part(self) -> tuple[Keys, Matrix]:
        """Return the keys and the vectors of all live rows."""
        return self.keys[self.live], self.vectors_at(np.flatnonzero(self.live))

    def without(self, keys: Keys) -> "FlatSegment":
        """Return a segment in which the rows of these keys are dead."""
        live = self.live & ~np.isin(self.keys, keys)
        if live.sum() < _MIN_LIVE_SHARE * len(live) - _MIN_DEAD_ROWS:
            return FlatSegment.of(self.keys[live], self.vectors_at(np.flatnonzero(live)))
        return FlatSegment(self.keys, live, self._main, self._tail)

    def with_rows(self, keys: Keys, vectors: Matrix) -> "FlatSegment":
        """Return a segment with more rows."""
        main, tail = self._main, self._tail
        if tail.ntotal + len(keys) > max(_MIN_TAIL, _TAIL_SHARE * main.ntotal):
            main = _extended(main, np.concatenate((tail.reconstruct_n(0, tail.ntotal), vectors)))
            tail = faiss.IndexFlatIP(self.dim)
        else:
            tail = _extended(tail, vectors)
        live = np.concatenate((self.live, np.ones(len(keys), np.bool_)))
        return FlatSegment(np.concatenate((self.keys, keys)), live, main, tail)

    @functools.cached_property
    def _sorted(self) -> tuple[Keys, Keys]:
        """The live keys, ascending, and the row of each."""
        rows = np.flatnonzero(self.live)
        rows = rows[np.argsort(self.keys[rows], kind="stable")]
        return self.keys[rows], rows

    def rows_of(self, keys: Keys) -> Keys:
        """Return the row of each live key, -1 for all others; shape (len(keys),)."""
        live_keys, rows = self._sorted
        if not len(live_keys):
            return np.full(len(keys), -1)
        positions = np.minimum(np.searchsorted(live_keys, keys), len(live_keys) - 1)
        return np.where(live_keys[positions] == keys, rows[positions], -1)

    def cosines_at(self, vectors: Matrix, rows: Keys) -> NDArray[np.float32]:
        """Return the greatest cosine of each row with any of the vectors, -inf for row -1; shape (len(rows),)."""
        best = np.full(len(rows), -np.inf, np.float32)
        for index, start in self._indexes():
            if index.ntotal and len(rows):  # FAISS takes no pointer to nothing
                inside = np.where((rows >= start) & (rows < start + index.ntotal), rows - start, -1)
                np.maximum(best, _cosines_at(index, vectors, inside), out=best)
        return best

    def search(self, vectors: Matrix, limit: int, selected: Flags) -> tuple[NDArray[np.float32], Keys]:
        """Return cosines and keys of the selected rows nearest to each vector, best first, padded with key -1.

        Shape (len(vectors), at most limit).
        """
        limit = min(limit, len(self.keys)) or 1
        parts = [
            _search(index, vectors, limit, self.keys[start:], selected[start:])
            for index, start in self._indexes()
            if index.ntotal
        ]
        if not parts:
            return np.full((len(vectors), 1), -1, np.float32), np.full((len(vectors), 1), -1, np.int64)
        return parts[0] if len(parts) == 1 else best_of(parts, limit)

    def _indexes(self) -> Iterator[tuple[Any, int]]:
        """Yield both FAISS indexes, each with its first row."""
        yield self._main, 0
        yield self._tail, self._main.ntotal


def best_of(parts: list[tuple[NDArray[np.float32], Keys]], limit: int) -> tuple[NDArray[np.float32], Keys]:
    """Return the best of the cosines and keys of several searches, best first, padded with key -1.

    All have one row for each vector, and key -1 where there is no hit.
    """
    cosines, keys = np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts])
    order = np.argsort(np.where(keys >= 0, -cosines, np.inf), axis=1, kind="stable")[:, :limit]
    return np.take_along_axis(cosines, order, 1), np.take_along_axis(keys, order, 1)


def _extended(index: Any, vectors: Matrix) -> Any:
    """Return a copy of a FAISS index with more vectors."""
    copy = faiss.clone_index(index)
    copy.add(np.ascontiguousarray(vectors))
    return copy


def _cosines_at(index: Any, vectors: Matrix, rows: Keys) -> NDArray[np.float32]:
    """Return the greatest cosine of each row of a FAISS index with any of the vectors, -inf for row -1."""
    cosines = np.empty((len(vectors), len(rows)), np.float32)
    labels = np.tile(rows, (len(vectors), 1))
    index.compute_distance_subset(
        len(vectors), faiss.swig_ptr(vectors), len(rows), faiss.swig_ptr(cosines), faiss.swig_ptr(labels)
    )
    greatest: NDArray[np.float32] = cosines.max(axis=0)
    return greatest


def _search(index: Any, vectors: Matrix, limit: int, keys: Keys, selected: Flags) -> tuple[NDArray[np.float32], Keys]:
    """Return cosines and keys of the selected rows of a FAISS index, of which `keys` are the keys."""
    chosen, parameters = selected[: index.ntotal], None
    if not chosen.all():
        # The stubs of FAISS have only the C++ constructors, not the Python ones that replace them.
        selector = faiss.IDSelectorBitmap(np.packbits(chosen, bitorder="little"))  # type: ignore[call-arg, arg-type]
        parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
    cosines, rows = index.search(vectors, min(limit, index.ntotal), params=parameters)
    return cosines, np.where(rows >= 0, keys[rows], -1)
