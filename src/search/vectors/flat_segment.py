"""The flat segment of the vector index: vectors that every search compares, for exact results."""

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search.types import Keys

_BUFFER_GROWTH = 1.5
_MIN_DEAD_ROWS = 64  # dead rows that are tolerated whatever their share
_MIN_LIVE_SHARE = 0.875

_BLOCK = 512
"""Rows that are compared with one vector after another, while they are in the processor's cache."""

_COPIED_BLOCK = 128
"""The same for rows that are copied out first."""

_GATHERED_SHARE = 0.5
"""The share of selected rows up to which copying them out costs less than comparing all rows."""

_GROUP = 32
"""Rows of which only the greatest cosine is looked at first: the best of these are a bound for the best of all."""

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
        best_cosines = np.full((len(vectors), limit), -1, np.float32)
        best_keys = np.full((len(vectors), limit), -1, np.int64)
        rows = np.flatnonzero(selected)
        is_gathered = len(rows) <= _GATHERED_SHARE * len(self.keys)
        cosines = self._cosines(vectors, rows if is_gathered else None)
        keys = self.keys[rows] if is_gathered else self.keys
        if not is_gathered and len(rows) < len(keys):
            cosines[:, ~selected] = -np.inf
        for place, row in enumerate(cosines):
            best = _greatest(row, min(limit, len(rows)))
            best_cosines[place, : len(best)] = row[best]
            best_keys[place, : len(best)] = keys[best]
        return best_cosines, best_keys

    def _cosines(self, vectors: Matrix, rows: Keys | None) -> Matrix:
        """Return the cosine of each vector with each of the rows, None for all; shape (len(vectors), rows)."""
        cosines = np.empty((len(vectors), len(self.keys) if rows is None else len(rows)), np.float32)
        if rows is None and len(vectors) == 1:
            np.dot(self.vectors, vectors[0], out=cosines[0])
            return cosines
        for place, part in self._blocks(rows):
            for vector, row in zip(vectors, cosines, strict=True):
                np.dot(part, vector, out=row[place : place + len(part)])
        return cosines

    def _blocks(self, rows: Keys | None) -> Iterator[tuple[int, Matrix]]:
        """Yield the vectors of the rows, None for all, in blocks that are valid until the next one."""
        if rows is None:
            for start in range(0, len(self.keys), _BLOCK):
                yield start, self.vectors[start : start + _BLOCK]
            return
        copied = np.empty((_COPIED_BLOCK, self.buffer.shape[1]), np.float32)
        for start in range(0, len(rows), _COPIED_BLOCK):
            chosen = rows[start : start + _COPIED_BLOCK]
            # Without `clip`, numpy would copy twice.
            yield start, np.take(self.buffer, chosen, axis=0, out=copied[: len(chosen)], mode="clip")


def _greatest(values: NDArray[np.float32], count: int) -> Keys:
    """Return the indices of the `count` greatest values, greatest first, in order where they are equal."""
    groups = len(values) // _GROUP
    candidates = np.arange(len(values))
    if count > 0 and 4 * count <= groups:
        maxima = values[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
        candidates = np.flatnonzero(values >= np.partition(maxima, groups - count)[groups - count])
    elif 0 < count < len(values):
        candidates = np.argpartition(values, len(values) - count)[len(values) - count :]
        candidates.sort()
    return candidates[np.argsort(-values[candidates], kind="stable")][:count]
