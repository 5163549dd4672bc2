"""The protocol of an embedding provider: the guarantees that every implementation gives."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
"""The vectors of several texts: shape (texts, dimension), float32, each row of unit length."""

Vector = NDArray[np.float32]
"""The vector of one text: shape (dimension,), float32, unit length."""

_MIN_LENGTH = 1e-6


def unit_vector(total: Vector) -> Vector:
    """Return the vector of unit length in the direction of a sum of vectors, shape (dim,). A sum of zero stays zero."""
    unit: Vector = (total / max(float(np.linalg.norm(total)), _MIN_LENGTH)).astype(np.float32)
    return unit


class EmbeddingError(Exception):
    """Embedding failed. The message says why and contains no secret, so it may be logged and returned to clients.

    `retry_after` is the number of seconds until another call makes sense, if known. `permanent` is true if the texts
    themselves were refused, so that a retry is pointless.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, permanent: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.permanent = permanent


class Embedder(Protocol):
    """Turns texts into unit vectors. Safe to call from several threads at once.

    `provider` is `hosted` or `local`, `model` is the model's public name, `dim` the dimension of all vectors.
    `space` identifies the vector space: provider, model (with a fingerprint of its weights) and dimension. Only
    vectors of the same space may be compared. The constructor is fast and does not use the network; slow work, such as
    loading a model, happens at the first call.
    """

    provider: str
    model: str
    space: str
    dim: int

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of documents, in the order of the texts: shape (len(texts), dim).

        Raises EmbeddingError unless all vectors are available and valid.
        """
        ...

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of queries, in the order of the texts: shape (len(texts), dim). Raises EmbeddingError.

        Meant for the few texts of one search: a hosted provider receives one request.
        """
        ...

    def close(self) -> None:
        """Release connections and models. A later call opens them again."""
        ...
