"""The seam to the vectors of one space: what every index of them guarantees."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search.fusion import NullDistribution
from search.types import DocumentGone, Keys, Match, VectorPut


class VectorsUnavailable(Exception):
    """The vectors cannot be searched just now; the message says why."""


class VectorIndex(Protocol):
    """An index over the unit vectors of one space that follows the changes of one catalog.

    Searching needs no lock, never waits for `apply`, and sees each step of it whole or not at all. A document that
    has no vector is not found, which is no error. `apply` and `save` may be called while others search. An index that
    is not in this process raises VectorsUnavailable where it cannot be reached.
    """

    space: str
    is_remote: bool
    """Whether searching waits for another process."""

    @property
    def number(self) -> int:
        """The last change the index holds."""
        ...

    def __len__(self) -> int:
        """Return how many vectors there are."""
        ...

    def apply(self, changes: Sequence[VectorPut | DocumentGone], number: int) -> None:
        """Take over `changes`; the index then stands at change `number`. Searchable on return."""
        ...

    def search(self, vectors: Matrix, limit: int, allowed: Keys | None = None) -> Match:
        """Return the `limit` documents nearest to each of the vectors, shape (queries, dim), by cosine.

        Those of the first vector come first, best first; a document may be there once for every vector. With
        `allowed` only these keys are found.
        """
        ...

    def cosines(self, vectors: Matrix, keys: Keys) -> NDArray[np.float32]:
        """Return each document's greatest cosine with any of `vectors`, NaN where it has none; shape (len(keys),)."""
        ...

    def background(self) -> NullDistribution:
        """Return the cosine of unrelated documents here; measured again when the index has grown or shrunk by much."""
        ...

    def is_ready(self) -> bool:
        """Return whether the index, now that its space is complete, is quick enough to answer in place of another.

        Asked by one process of a catalog; where it is not, that is seen to, and the engine told of a change at the end.
        """
        ...

    def save(self) -> None:
        """Keep what makes the next start quick, unless it is kept already."""
        ...


OpenVectors = Callable[[Path, str, str, int], VectorIndex]
"""Opens the index of one space: where its file may lie, the catalog's id, the space, the dimension of its vectors."""
