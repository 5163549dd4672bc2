"""Exact nearest neighbours, the reference for recall."""

from pathlib import Path

import numpy as np

import corpora
from embeddings.base import Matrix
from search.types import Keys


class Nearest:
    """The ten nearest of all vectors added so far, by exact cosine, for each query and each tag."""

    def __init__(self, queries: Matrix) -> None:
        self._queries = queries
        empty = np.empty((len(queries), 0), np.float32)
        self._best = {tag: (empty.astype(np.int64), empty) for tag in ("", *corpora.TAGS)}

    def add(self, keys: Keys, vectors: Matrix) -> None:
        """Add a batch of vectors."""
        cosines = self._queries @ vectors.T
        for tag, (best, scores) in self._best.items():
            chosen = (keys - 1) % corpora.TAGS.get(tag, 1) == 0  # a skill's number is its key minus one
            all_scores = np.concatenate((scores, cosines[:, chosen]), axis=1)
            all_keys = np.concatenate((best, np.broadcast_to(keys[chosen], (len(cosines), chosen.sum()))), axis=1)
            top = np.argsort(-all_scores, axis=1, kind="stable")[:, :10]
            self._best[tag] = np.take_along_axis(all_keys, top, 1), np.take_along_axis(all_scores, top, 1)

    def save(self, path: Path) -> None:
        """Write the keys to a file."""
        np.savez(path, **{tag or "all": keys for tag, (keys, _) in self._best.items()})
