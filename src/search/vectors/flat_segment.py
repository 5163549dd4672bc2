"""The flat segment of the vector index: vectors that every search compares, for exact results."""

import functools

import faiss
import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search.types import Keys

_BUFFER_GROWTH = 1.5
_MIN_DEAD_ROWS = 64  # dead rows that are tolerated whatever their share
_MIN_LIVE_SHARE = 0.875

Flags = NDArray[np.bool_]


class FlatSegment:
    """Rows of unit vectors: row i is the vector of document `keys[i]`, and is dead unless `live[i]`.

    `buffer` contains the vectors and spare rows behind them. Rows never change, and a segment does not see the rows
    behind its own. So segments share one buffer, and a new one is built while the old one is searched.
    """

    def __init__(self, keys: Keys, live: Flags, buffer: Matrix) -> None:
        self.keys, self.live, self.buffer = keys, live, buffer

    @classmethod
    def empty(cls, dim: int) -> "FlatSegment":
        """Return a segment without rows."""
        return cls.of(np.empty(0, np.int64), np.empty((0, dim), np.float32))

    @classmethod
    def of(cls, keys: Keys, vectors: Matrix) -> "FlatSegment":
        """Return a segment of live rows."""
        return cls(keys, np.ones(len(keys), np.bool_), vectors)

    @functools.cached_property
    def live_count(self) -> int:
        """The number of live rows."""
        return int(self.live.sum())

    @property
    def vectors(self) -> Matrix:
        """The vectors of all rows, shape (rows, dimension)."""
        return self.buffer[: len(self.keys)]

    def without(self, keys: Keys) -> "FlatSegment":
        """Return a segment in which the rows of these keys are dead."""
        live = self.live & ~np.isin(self.keys, keys)
        if live.sum() < _MIN_LIVE_SHARE * len(live) - _MIN_DEAD_ROWS:
            return FlatSegment.of(self.keys[live], self.vectors[live])
        return FlatSegment(self.keys, live, self.buffer)

    def with_rows(self, keys: Keys, vectors: Matrix) -> "FlatSegment":
        """Return a segment with more rows. Call this at most once per segment: the results would share rows."""
        count, total = len(self.keys), len(self.keys) + len(keys)
        buffer = self.buffer
        if total > len(buffer):
            buffer = np.empty((int(_BUFFER_GROWTH * total), buffer.shape[1]), np.float32)
            buffer[:count] = self.vectors
        buffer[count:total] = vectors
        live = np.concatenate((self.live, np.ones(len(keys), np.bool_)))
        return FlatSegment(np.concatenate((self.keys, keys)), live, buffer)

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

    def search(self, vectors: Matrix, limit: int, selected: Flags) -> tuple[NDArray[np.float32], Keys]:
        """Return cosines and keys of the selected rows nearest to each vector, best first, padded with key -1.

        Shape (len(vectors), at most limit).
        """
        limit = min(limit, len(self.keys)) or 1
        cosines = np.full((len(vectors), limit), -1, np.float32)
        rows = np.full((len(vectors), limit), -1, np.int64)
        if selected.any():
            bits = None if selected.all() else np.packbits(selected, bitorder="little")
            selector = None if bits is None else faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg, arg-type]
            faiss.knn_inner_product(
                faiss.swig_ptr(vectors), faiss.swig_ptr(self.buffer), vectors.shape[1], len(vectors), len(self.keys),
                limit, faiss.swig_ptr(cosines), faiss.swig_ptr(rows), selector,
            )  # fmt: skip
        return cosines, np.where(rows >= 0, self.keys[rows], -1) if len(self.keys) else rows
