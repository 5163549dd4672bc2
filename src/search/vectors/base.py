"""The protocol of a vector index: the guarantees that every implementation gives."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search.fusion import NullDistribution
from search.types import DocumentGone, Keys, Match, VectorPut


class VectorsUnavailable(Exception):
    """The vectors cannot be searched at the moment. The message says why."""


class VectorIndex(Protocol):
    """An index of the unit vectors of one space of one catalog.

    Searches take no lock, never wait for `apply`, and see either all of its changes or none. Documents without a
    vector are not found. `apply` and `save` may run concurrently with searches. An index in another process raises
    VectorsUnavailable if it cannot be reached.
    """

    space: str
    is_remote: bool
    """True if a search waits for another process."""

    @property
    def revision(self) -> int:
        """The revision of the last change in the index."""
        ...

    def __len__(self) -> int:
        """Return the number of vectors."""
        ...

    def count_at(self, revision: int) -> int:
        """Return the number of vectors at a revision of the catalog, or at a later one. Repeated calls cost nothing."""
        ...

    def apply(self, changes: Sequence[VectorPut | DocumentGone], revision: int) -> None:
        """Apply `changes`. The index is then at `revision`, and searches find them."""
        ...

    def search(self, vectors: Matrix, limit: int, allowed: Keys | None = None) -> Match:
        """Return the `limit` documents nearest to each of the vectors, shape (queries, dim), by cosine.

        The results of the first vector come first, best first. A document may occur once per vector. With `allowed`,
        only these keys are found.
        """
        ...

    def cosines(self, vectors: Matrix, keys: Keys) -> NDArray[np.float32]:
        """Return each document's maximum cosine with any of `vectors`, NaN if it has none; shape (len(keys),)."""
        ...

    def null_distribution(self) -> NullDistribution:
        """Return the cosine of unrelated documents, measured again when the index has grown or shrunk by a fifth."""
        ...

    def is_ready(self) -> bool:
        """Return whether the index of a complete space is fast enough to replace another one.

        Only one process of a catalog calls this. If the answer is no, the implementation prepares the index in the
        background and then notifies the engine of a change.
        """
        ...

    def save(self) -> None:
        """Write a snapshot for a fast start, unless it is up to date."""
        ...


OpenVectors = Callable[[Path, str, str, int], VectorIndex]
"""Opens the index of one space. Parameters: path of its file, catalog id, space, dimension."""
