"""The seam between texts and vectors: what every embedding provider promises."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
"""Vectors of several texts: shape (texts, dimension), float32, each row of unit length."""

Vector = NDArray[np.float32]
"""The vector of one text: shape (dimension,), float32, unit length."""


class EmbeddingError(Exception):
    """An embedding could not be made; the message says why and is fit for a log or an answer.

    `retry_after` is the number of seconds before another call makes sense, where it is known.
    `permanent` is true when these very texts were refused, so that trying them again is pointless.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, permanent: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.permanent = permanent


class Embedder(Protocol):
    """Turns texts into unit vectors. Safe to call from several threads at once.

    `provider` is `hosted` or `local`, `model` the model's public name, `dim` the dimension of every vector.
    `space` names the set of vectors that may be compared with each other: provider, model (with what identifies its
    weights) and dimension. Two embedders with equal `space` give interchangeable vectors.
    Making an embedder is quick and does not call a network; what is slow (loading a model) happens at first use.
    """

    provider: str
    model: str
    space: str
    dim: int

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Return one vector a text, in the same order: shape (len(texts), dim).

        Raises EmbeddingError when not every vector could be made or checked.
        """
        ...

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Return one vector a text, as what is searched for: shape (len(texts), dim). Raises EmbeddingError.

        Meant for the few texts of one search: one call of a provider.
        """
        ...

    def close(self) -> None:
        """Let connections and models go; a later call takes them up again."""
        ...
