"""Vectors distributed like those of embedding models, and the results of exact search over them."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from embeddings.base import Matrix
from search.types import DocumentGone, Documents, Keys, Match, VectorPut
from search.vectors.base import VectorIndex
from search.vectors.vector_sync import VectorSync
from support.waiting import wait_until


def clustered_vectors(count: int, dim: int = 32, groups: int = 200, seed: int = 7) -> Matrix:
    """Return unit vectors around centres, as near to each other as texts on one subject; shape (count, dim)."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(groups, dim))
    widths = rng.uniform(0.2, 0.9, groups)
    group = rng.integers(0, groups, count)
    vectors = (centres[group] + widths[group, None] * rng.normal(size=(count, dim))).astype(np.float32)
    units: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


class VectorFeed:
    """A catalog of vectors: key and revision count from 1. Without vectors, it has every revision that is asked for."""

    def __init__(self, catalog_id: str, vectors: Sequence[Matrix] | Matrix = ()) -> None:
        self.catalog_id = catalog_id
        self.changes: list[VectorPut | DocumentGone] = [
            VectorPut(row + 1, row + 1, vector) for row, vector in enumerate(vectors)
        ]

    def revision(self) -> int:
        return self.changes[-1].revision if self.changes else 1 << 40

    def vector_changes(self, space: str, since: int, limit: int) -> list[VectorPut | DocumentGone]:
        return [change for change in self.changes if change.revision > since][:limit]


def copied(feed: VectorFeed | Documents, index: VectorIndex) -> VectorSync:
    """Return what keeps the index at the revision of a catalog, once it is there, however slow the machine."""
    sync = VectorSync(cast("Documents", feed), index, lambda: None)
    sync.sync(feed.revision())
    wait_until(lambda: not sync.behind(feed.revision()))
    return sync


def put(index: VectorIndex, keys: Sequence[int] | Keys, vectors: Matrix) -> None:
    """Put the vectors of documents in one batch."""
    start = index.revision
    changes = [VectorPut(start + 1 + row, int(key), vectors[row]) for row, key in enumerate(keys)]
    index.apply(changes, start + len(changes))


def nearest(vectors: Matrix, keys: Keys, query: Matrix, limit: int) -> list[int]:
    """Return the keys of the vectors with the highest cosines, best first."""
    cosines = vectors @ query
    best = np.argpartition(-cosines, min(limit, len(cosines)) - 1)[:limit]
    return [int(key) for key in keys[best[np.argsort(-cosines[best])]]]


def recall(found: Sequence[Match], expected: Sequence[Sequence[int]]) -> float:
    """Return the share of the expected documents that were found."""
    hits = sum(len(set(match.keys.tolist()) & set(best)) for match, best in zip(found, expected, strict=True))
    return hits / sum(map(len, expected))
