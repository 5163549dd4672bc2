"""The exact answer that recall is measured against."""

from pathlib import Path

import numpy as np

import corpora
from embeddings.base import Matrix
from search.types import Keys


class Nearest:
    """The ten nearest of all vectors seen so far, by exact cosines, for every query and every tag."""

    def __init__(self, queries: Matrix) -> None:
        self._queries = queries
        empty = np.empty((len(queries), 0), np.float32)
        self._best = {tag: (empty.astype(np.int64), empty) for tag in ("", *corpora.TAGS)}

    def add(self, keys: Keys, vectors: Matrix) -> None:
        """Take a batch of vectors into account."""
        cosines = self._queries @ vectors.T
        for tag, (best, scores) in self._best.items():
            chosen = (keys - 1) % corpora.TAGS.get(tag, 1) == 0  # the number of a skill is one less than its key
            every = np.concatenate((scores, cosines[:, chosen]), axis=1)
            of = np.concatenate((best, np.broadcast_to(keys[chosen], (len(cosines), chosen.sum()))), axis=1)
            top = np.argsort(-every, axis=1, kind="stable")[:, :10]
            self._best[tag] = np.take_along_axis(of, top, 1), np.take_along_axis(every, top, 1)

    def save(self, path: Path) -> None:
        """Keep the keys found."""
        np.savez(path, **{tag or "all": keys for tag, (keys, _) in self._best.items()})
