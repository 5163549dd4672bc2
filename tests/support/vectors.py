"""Vectors as models make them, in groups of different width, and what an exact search finds among them."""

from collections.abc import Sequence

import numpy as np

from embeddings.base import Matrix
from search.types import Keys, Match, VectorPut
from search.vectors.base import VectorIndex


def clustered_vectors(count: int, dim: int = 32, groups: int = 200, seed: int = 7) -> Matrix:
    """Return unit vectors round centres, so near to each other as texts of one subject are; shape (count, dim)."""
    drawn = np.random.default_rng(seed)
    centres = drawn.normal(size=(groups, dim))
    widths = drawn.uniform(0.2, 0.9, groups)
    group = drawn.integers(0, groups, count)
    vectors = (centres[group] + widths[group, None] * drawn.normal(size=(count, dim))).astype(np.float32)
    units: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def put(index: VectorIndex, keys: Sequence[int] | Keys, vectors: Matrix) -> None:
    """Give documents vectors, as one step."""
    start = index.number
    changes = [VectorPut(start + 1 + place, int(key), vectors[place]) for place, key in enumerate(keys)]
    index.apply(changes, start + len(changes))


def nearest(vectors: Matrix, keys: Keys, query: Matrix, limit: int) -> list[int]:
    """Return the keys of the vectors with the greatest cosines, best first."""
    cosines = vectors @ query
    best = np.argpartition(-cosines, min(limit, len(cosines)) - 1)[:limit]
    return [int(key) for key in keys[best[np.argsort(-cosines[best])]]]


def recall(found: Sequence[Match], right: Sequence[Sequence[int]]) -> float:
    """Return the share of the right documents that were found."""
    hits = sum(len(set(one.keys.tolist()) & set(best)) for one, best in zip(found, right, strict=True))
    return hits / sum(map(len, right))
