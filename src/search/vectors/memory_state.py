"""The immutable state of the vector index in this process: a flat segment, and clusters for large catalogs."""

from typing import NamedTuple

import numpy as np

from embeddings.base import Matrix
from search.types import Keys
from search.vectors.flat_segment import FlatSegment
from search.vectors.ivf_segment import IvfSegment, build_ivf
from search.vectors.selection import Selection


class State(NamedTuple):
    """An immutable state of the index. A document is in the flat segment, or in the IVF segment and in `live`."""

    ivf: IvfSegment | None
    live: Selection
    flat: FlatSegment

    @classmethod
    def of(cls, ivf: IvfSegment | None, flat: FlatSegment, dead: Keys | None = None) -> "State":
        """Return the state with these segments, in which the keys `dead` of the IVF segment are dead."""
        if ivf is None:
            return cls(None, Selection.empty(), flat)
        every = ivf.select_all()
        return cls(ivf, every if dead is None else ivf.exclude(every, dead), flat)

    def total(self) -> int:
        """Return the number of vectors."""
        return self.live.total() + self.flat.live_count

    def without(self, keys: Keys) -> "State":
        """Return a state without the vectors of these keys."""
        live = self.ivf.exclude(self.live, keys) if self.ivf else self.live
        return State(self.ivf, live, self.flat.without(keys))

    def dead(self) -> Keys:
        """Return the keys of the dead vectors of the IVF segment."""
        if self.ivf is None:
            return self.live.keys()
        return np.setdiff1d(self.ivf.select_all().keys(), self.live.keys(), assume_unique=True)

    def keys(self) -> Keys:
        """Return the keys of all vectors."""
        return np.concatenate((self.live.keys(), self.flat.keys[self.flat.live]))

    def vectors_of(self, keys: Keys) -> Matrix:
        """Return the vectors of keys that are all in the index, shape (len(keys), dimension)."""
        rows = self.flat.rows_of(keys)
        if self.ivf is None:
            return self.flat.vectors_at(rows)
        vectors = np.empty((len(keys), self.flat.dim), np.float32)
        vectors[rows >= 0] = self.flat.vectors_at(rows[rows >= 0])
        vectors[rows < 0] = self.ivf.vectors_of(keys[rows < 0])
        return vectors

    def merged(self) -> IvfSegment | None:
        """Return a new IVF segment of all vectors, or None if there are none."""
        keys, vectors = self.flat.live_part()
        if self.ivf is not None and self.total():
            return self.ivf.merge(self.live, keys, vectors)
        return build_ivf(len(keys), lambda: [(keys, vectors)]) if len(keys) else None
