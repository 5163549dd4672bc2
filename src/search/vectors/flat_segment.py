"""Vectors that are compared one by one: all of a small catalog, and of a large one those that came last."""

import functools

import faiss
import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search.types import Keys

_ROOM = 1.5
_SOME = 64  # rows that may be dead whatever their share
_LIVING = 0.875

Flags = NDArray[np.bool_]


class FlatSegment:
    """Rows of unit vectors: row i is that of document `keys[i]`, and counts where `live[i]`.

    `room` holds the vectors and space for more behind them. Rows are never changed, and what has fewer rows does not
    see those behind them: so states share one `room`, and the next is made while the one before is searched.
    """

    def __init__(self, keys: Keys, live: Flags, room: Matrix) -> None:
        self.keys, self.live, self.room = keys, live, room

    @classmethod
    def none(cls, dim: int) -> "FlatSegment":
        """Return no rows."""
        return cls.of(np.empty(0, np.int64), np.empty((0, dim), np.float32))

    @classmethod
    def of(cls, keys: Keys, vectors: Matrix) -> "FlatSegment":
        """Return rows that all count."""
        return cls(keys, np.ones(len(keys), np.bool_), vectors)

    @functools.cached_property
    def total(self) -> int:
        """How many rows count."""
        return int(self.live.sum())

    @property
    def vectors(self) -> Matrix:
        """The vector of every row, shape (rows, dimension)."""
        return self.room[: len(self.keys)]

    def without(self, gone: Keys) -> "FlatSegment":
        """Return the state in which the rows of these keys count no more."""
        live = self.live & ~np.isin(self.keys, gone)
        if live.sum() < _LIVING * len(live) - _SOME:
            return FlatSegment.of(self.keys[live], self.vectors[live])
        return FlatSegment(self.keys, live, self.room)

    def plus(self, keys: Keys, vectors: Matrix) -> "FlatSegment":
        """Return the state with more rows. Of one state only one other may be made in this way."""
        count, total = len(self.keys), len(self.keys) + len(keys)
        room = self.room
        if total > len(room):
            room = np.empty((int(_ROOM * total), room.shape[1]), np.float32)
            room[:count] = self.vectors
        room[count:total] = vectors
        live = np.concatenate((self.live, np.ones(len(keys), np.bool_)))
        return FlatSegment(np.concatenate((self.keys, keys)), live, room)

    @functools.cached_property
    def _sorted(self) -> tuple[Keys, Keys]:
        """The keys that count, ascending, and the row of each."""
        rows = np.flatnonzero(self.live)
        rows = rows[np.argsort(self.keys[rows], kind="stable")]
        return self.keys[rows], rows

    def rows_of(self, keys: Keys) -> Keys:
        """Return the row of each key that counts, -1 where it has none; shape (len(keys),)."""
        known, rows = self._sorted
        if not len(known):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[at] == keys, rows[at], -1)

    def search(self, vectors: Matrix, limit: int, wanted: Flags) -> tuple[NDArray[np.float32], Keys]:
        """Return cosines and keys of the wanted rows nearest to each vector, best first, -1 where there is none.

        Shape (len(vectors), at most limit).
        """
        limit = min(limit, len(self.keys)) or 1
        cosines = np.full((len(vectors), limit), -1, np.float32)
        rows = np.full((len(vectors), limit), -1, np.int64)
        if wanted.any():
            bits = None if wanted.all() else np.packbits(wanted, bitorder="little")
            selector = None if bits is None else faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg, arg-type]
            faiss.knn_inner_product(
                faiss.swig_ptr(vectors), faiss.swig_ptr(self.room), vectors.shape[1], len(vectors), len(self.keys),
                limit, faiss.swig_ptr(cosines), faiss.swig_ptr(rows), selector,
            )  # fmt: skip
        return cosines, np.where(rows >= 0, self.keys[rows], -1) if len(self.keys) else rows
