"""The cosines of candidates that several indexes have found."""

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search.types import Keys, Match
from search.vectors.base import VectorIndex


def candidate_cosines(
    index: VectorIndex | None, vectors: Matrix | None, near: Match, keys: Keys
) -> NDArray[np.float32] | NDArray[np.float64]:
    """Return each document's maximum cosine with any of the vectors, NaN if it has none; shape (len(keys),)."""
    if index is None or vectors is None:
        return np.full(len(keys), np.nan)
    # Of several vectors, a document that is near to one may be nearer to another. An index in this process compares all
    # candidates again in less time than it takes to look for those that it has not compared.
    if len(vectors) > 1 or not index.is_remote:
        return index.cosines(vectors, keys)
    near_cosines = dict(zip(near.keys.tolist(), near.scores.tolist(), strict=True))
    cosines = np.array([near_cosines.get(key, np.nan) for key in keys.tolist()], np.float32)
    missing = np.isnan(cosines)
    cosines[missing] = index.cosines(vectors, keys[missing])
    return cosines
