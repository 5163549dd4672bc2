"""Exact inner products over unit vectors, on FAISS, read from an immutable view."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search import integrity
from search.fuse import MINILM, Background, background
from search.types import DocumentGone, Found, Keys, VectorPut


class _View(NamedTuple):
    """One state of the index: row i of `index` is the vector of document `keys[i]`; `rows[key]` is i, or -1."""

    index: Any
    keys: Keys
    rows: Keys

    def rows_of(self, keys: Keys) -> Keys:
        """Return the row of each key, -1 where it has none; shape (len(keys),)."""
        known = keys < len(self.rows)
        return np.where(known, self.rows[np.where(known, keys, 0)], -1)


def _view(index: Any, keys: Keys) -> _View:
    rows = np.full(int(keys.max(initial=0)) + 1, -1, np.int64)
    rows[keys] = np.arange(len(keys))
    return _View(index, keys, rows)


class FlatVectors:
    """`search.vectors.VectorIndex` as a flat FAISS index.

    Changes are made to a clone which then takes the place of the view, so searching needs no lock; `apply` is for one
    thread at a time. The file at `path` is a snapshot for a quick start, trusted only with a sidecar that fits it and
    names this catalog and space.
    """

    def __init__(self, path: Path, catalog_id: str, space: str, dim: int) -> None:
        self.space = space
        self.path = path
        self._facts = {"catalog": catalog_id, "space": space, "dim": dim, "metric": "inner product"}
        self._dim = dim
        self._lock = threading.Lock()
        self._saved = 0
        self._measured = (0, MINILM)
        self.number = 0
        self._view = _view(faiss.IndexFlatIP(dim), np.empty(0, np.int64))
        self.rebuilt_because = self._load()

    def _load(self) -> str | None:
        facts = integrity.read_sidecar(self.path)
        if facts is None:
            return "there is no sound snapshot"
        if any(facts.get(name) != value for name, value in self._facts.items()):
            return "the snapshot is of another catalog or model"
        stored: Any = faiss.read_index(str(self.path))
        keys = faiss.vector_to_array(stored.id_map).astype(np.int64)
        index = faiss.clone_index(faiss.downcast_index(stored.index))
        self._view = _view(index, keys)
        self.number = self._saved = int(facts["number"])
        return None

    def save(self) -> None:
        """Write the snapshot, unless the one on disk is as new."""
        with self._lock:
            view, number = self._view, self.number
            if number == self._saved:
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_suffix(".tmp")
            mapped = faiss.IndexIDMap(faiss.IndexFlatIP(self._dim))
            mapped.add_with_ids(_stored(view.index), view.keys)
            faiss.write_index(mapped, str(temporary))
            facts = {**self._facts, "number": number, "count": len(view.keys)}
            integrity.write_with_sidecar(temporary, self.path, facts)
            self._saved = number

    def __len__(self) -> int:
        return len(self._view.keys)

    def apply(self, changes: Sequence[VectorPut | DocumentGone], number: int) -> None:
        """Take over `changes`; the index then stands at change `number`. Searchable on return."""
        with self._lock:
            if changes:
                self._view = self._changed(changes)
            self.number = number

    def _changed(self, changes: Sequence[VectorPut | DocumentGone]) -> _View:
        latest = {change.key: change for change in changes}
        old = self._view
        puts = [change for change in latest.values() if isinstance(change, VectorPut)]
        kept = ~np.isin(old.keys, list(latest))
        if kept.all():
            index, keys = faiss.clone_index(old.index), old.keys
        else:
            index, keys = faiss.IndexFlatIP(self._dim), old.keys[kept]
            index.add(_stored(old.index)[kept])
        if puts:
            index.add(np.stack([change.vector for change in puts]))
            keys = np.concatenate([keys, np.array([change.key for change in puts], np.int64)])
        return _view(index, keys)

    def search(self, vectors: Matrix, limit: int, allowed: Keys | None = None) -> Found:
        """Return the `limit` documents nearest to each of the vectors, shape (queries, dim), by cosine.

        Those of the first vector come first, best first; a document may be there once for every vector. With
        `allowed` only these keys are found.
        """
        view = self._view
        parameters = None
        if allowed is not None:
            rows = view.rows_of(allowed)
            # faiss's own stubs know the C++ constructors only, not the Python ones it puts in their place.
            parameters = faiss.SearchParameters(sel=_selector(rows[rows >= 0], len(view.keys)))  # type: ignore[call-arg]
        scores, found = view.index.search(vectors, min(limit, len(view.keys)) or 1, params=parameters)
        there = found >= 0
        return Found(view.keys[found[there]], scores[there])

    def background(self) -> Background:
        """Return the cosine of unrelated documents here; measured again when the index has grown or shrunk by much."""
        count = len(self)
        if not 0.8 < count / max(self._measured[0], 1) < 1.25:
            self._measured = (count, background(_stored(self._view.index)))
        return self._measured[1]

    def cosines(self, vectors: Matrix, keys: Keys) -> NDArray[np.float32]:
        """Return each document's greatest cosine with any of `vectors`, NaN where it has none; shape (len(keys),)."""
        view = self._view
        rows = view.rows_of(keys)
        known = rows >= 0
        result = np.full(len(keys), np.nan, np.float32)
        if known.any():
            result[known] = (_stored(view.index)[rows[known]] @ vectors.T).max(axis=1)
        return result


def _stored(index: Any) -> NDArray[np.float32]:
    """Return the vectors of a flat index without copying them, shape (vectors, dimension)."""
    if not index.ntotal:
        return np.empty((0, index.d), np.float32)
    flat: NDArray[np.float32] = faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d)
    return flat.reshape(index.ntotal, index.d)


def _selector(rows: Keys, total: int) -> Any:
    mask = np.zeros(total, bool)
    mask[rows] = True
    return faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))  # type: ignore[call-arg, arg-type]
