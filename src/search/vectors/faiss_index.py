"""The vector index in this process: exact for small catalogs, in clusters above, on FAISS."""

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search import integrity
from search.fusion import MINILM, RANDOM_PAIRS, NullDistribution, background
from search.types import DocumentGone, Keys, Match, VectorPut
from search.vectors.flat_segment import FlatSegment
from search.vectors.ivf_segment import IvfSegment, Within, clustered, read_clusters

_log = logging.getLogger("search")

EXACT = 20_000
"""Up to so many vectors all are compared with a query, in one or two milliseconds."""

_DEAD = 0.2
"""Share of the vectors in clusters that may be out of use before they are left out."""

_BEHIND = 4  # as many times EXACT may wait to be taken into the clusters


class _View(NamedTuple):
    """One state of the index: a document is among the recent ones, or in the clusters and then `live` has it."""

    clusters: IvfSegment | None
    live: Within
    recent: FlatSegment

    def total(self) -> int:
        """Return how many vectors there are."""
        return self.live.total() + self.recent.total

    def without(self, keys: Keys) -> "_View":
        """Return the state in which there is no vector of these keys."""
        live = self.clusters.without(self.live, keys) if self.clusters else self.live
        return _View(self.clusters, live, self.recent.without(keys))

    def dead(self) -> Keys:
        """Return the keys of the clusters' vectors that are there no more."""
        if self.clusters is None:
            return self.live.keys()
        return np.setdiff1d(self.clusters.everything().keys(), self.live.keys(), assume_unique=True)

    def keys(self) -> Keys:
        """Return the key of every vector."""
        return np.concatenate((self.live.keys(), self.recent.keys[self.recent.live]))

    def vectors_of(self, keys: Keys) -> Matrix:
        """Return the vectors of keys that are all here, shape (len(keys), dimension)."""
        rows = self.recent.rows_of(keys)
        if self.clusters is None:
            return self.recent.vectors[rows]
        vectors = np.empty((len(keys), self.recent.room.shape[1]), np.float32)
        vectors[rows >= 0] = self.recent.vectors[rows[rows >= 0]]
        vectors[rows < 0] = self.clusters.vectors_of(keys[rows < 0])
        return vectors

    def merged(self) -> IvfSegment | None:
        """Return new clusters of all vectors, None where there is none."""
        keys, vectors = self.recent.keys[self.recent.live], self.recent.vectors[self.recent.live]
        if self.clusters is not None and self.total():
            return self.clusters.with_more(self.live, keys, vectors)
        return clustered(len(keys), lambda: [(keys, vectors)]) if len(keys) else None


class FaissVectors:
    """`search.vectors.VectorIndex` in this process.

    What is put stays at first among the recent vectors, which are compared one by one. When these are more than
    `exact`, a thread takes them into the clusters, which are made anew for that while the old ones answer. Each change
    makes another view that then takes the place of the one before, so searching needs no lock; `apply` is for one
    thread at a time. The files round `path` are a snapshot for a quick start, trusted only with sidecars that fit them
    and name this catalog and space.
    """

    is_remote = False

    def __init__(self, path: Path, catalog_id: str, space: str, dim: int, exact: int = EXACT) -> None:
        self.space = space
        self.path = path
        self._facts = {"catalog": catalog_id, "space": space, "dim": dim, "metric": "inner product"}
        self._exact = exact
        self._lock = threading.Lock()
        self._merging: threading.Thread | None = None
        self._touched: list[Keys] = []
        self._measured = (0, MINILM)
        self._saved = 0
        self._written: str | None = None
        self.number = 0
        self._view = _state(None, FlatSegment.none(dim))
        self.rebuilt_because = self._load()

    def _load(self) -> str | None:
        facts = self._facts_of(self._recent_path)
        if facts is None:
            return "there is no sound snapshot of this catalog and model"
        clusters, self._written = None, facts["clusters"]
        if self._written is not None:
            path = self.path.with_name(self._written)
            if self._facts_of(path) is None:
                return "the clusters of the snapshot are missing or damaged"
            clusters = read_clusters(path)
        stored = np.load(self._recent_path)
        self._view = _state(clusters, FlatSegment.of(stored["keys"], stored["vectors"]), stored["dead"])
        self.number = self._saved = int(facts["number"])
        return None

    def _facts_of(self, path: Path) -> dict[str, Any] | None:
        """Return what the sidecar of a sound file says, None where the file is not of this catalog and space."""
        facts = integrity.read_sidecar(path)
        return facts if facts and all(facts.get(name) == value for name, value in self._facts.items()) else None

    @property
    def _recent_path(self) -> Path:
        return self.path.with_suffix(".npz")

    def save(self) -> None:
        """Write the snapshot, unless the one on disk is as new."""
        with self._lock:
            view = self._view
            if self.number == self._saved or (view.clusters is not None and self._written is None):
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary, live = self._recent_path.with_suffix(".tmp"), view.recent.live
            with temporary.open("wb") as file:
                np.savez(file, keys=view.recent.keys[live], vectors=view.recent.vectors[live], dead=view.dead())
            facts = {**self._facts, "number": self.number, "count": view.total(), "clusters": self._written}
            integrity.write_with_sidecar(temporary, self._recent_path, facts)
            self._saved = self.number
            if self._merging in (None, threading.current_thread()):  # another may just have written its clusters
                self._remove_old()

    def _remove_old(self) -> None:
        for path in self.path.parent.glob(f"{self.path.stem}.*.clusters*"):
            if self._written is None or not path.name.startswith(self._written):
                path.unlink(missing_ok=True)

    def __len__(self) -> int:
        return self._view.total()

    def apply(self, changes: Sequence[VectorPut | DocumentGone], number: int) -> None:
        """Take over `changes`; the index then stands at change `number`. Searchable on return.

        Waits where too much has come that is not in clusters yet, as when a large catalog is read for the first time.
        """
        if len(self._view.recent.keys) > _BEHIND * self._exact:
            self.settle()
        with self._lock:
            if changes:
                self._view = self._changed(changes)
            self.number = number
            if self._merging is None and self._wants_merging():
                self._merging = threading.Thread(target=self._merge, name="merge-vectors", daemon=True)
                self._merging.start()

    def _changed(self, changes: Sequence[VectorPut | DocumentGone]) -> _View:
        latest = {change.key: change for change in changes}
        keys = np.fromiter(latest, np.int64, len(latest))
        if self._merging is not None:
            self._touched.append(keys)
        view = self._view.without(keys)
        puts = [change for change in latest.values() if isinstance(change, VectorPut)]
        if not puts:
            return view
        put = np.fromiter((change.key for change in puts), np.int64, len(puts))
        return view._replace(recent=view.recent.plus(put, np.stack([change.vector for change in puts])))

    def _wants_merging(self) -> bool:
        view = self._view
        dead = len(view.clusters) - view.live.total() if view.clusters else 0
        return len(view.recent.keys) > self._exact or dead > _DEAD * (view.live.total() + dead)

    def is_ready(self) -> bool:
        """Return true: what is recent is found exactly, so nothing need be waited for."""
        return True

    def settle(self) -> None:
        """Return when all that should be in clusters is."""
        if (merging := self._merging) is not None:
            merging.join()

    def _merge(self) -> None:
        """Take what is recent into the clusters, again and again until little is left; then write the snapshot."""
        try:
            wanted = True
            while wanted:
                with self._lock:
                    view, number, self._touched = self._view, self.number, []
                merged = view.merged()
                written = self._write(merged, number) if merged else None
                with self._lock:
                    self._swap(read_clusters(self.path.with_name(written)) if written else None, written)
                    wanted = self._wants_merging()
            self.save()
        except Exception:
            _log.exception("vectors could not be taken into clusters: all are found, but not as quickly")
        finally:
            self._merging = None

    def _write(self, clusters: IvfSegment, number: int) -> str:
        """Write clusters into a file of their own and return its name: they are used from there, and with care kept."""
        path = self.path.with_name(f"{self.path.stem}.{number}.clusters")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.tmp")
        clusters.write(temporary)
        integrity.write_with_sidecar(temporary, path, self._facts)
        return path.name

    def _swap(self, clusters: IvfSegment | None, written: str | None) -> None:
        """Let new clusters take the place of the old; what has changed since they were begun is recent."""
        touched = np.concatenate([np.empty(0, np.int64), *self._touched])
        recent = self._view.recent
        chosen = recent.live & np.isin(recent.keys, touched)
        kept = FlatSegment.of(recent.keys[chosen], recent.vectors[chosen])
        self._view = _state(clusters, kept, touched)
        self._written, self._saved = written, -1

    def search(self, vectors: Matrix, limit: int, allowed: Keys | None = None) -> Match:
        """Return the `limit` documents nearest to each of the vectors, shape (queries, dim), by cosine.

        Those of the first vector come first, best first; a document may be there once for every vector. With
        `allowed` only these keys are found.
        """
        view, vectors = self._view, np.ascontiguousarray(vectors, np.float32)
        recent = view.recent
        wanted = recent.live if allowed is None else recent.live & np.isin(recent.keys, allowed)
        cosines, keys = recent.search(vectors, limit, wanted)
        if view.clusters is not None:
            within = view.live if allowed is None else view.clusters.only(view.live, allowed)
            more, others = view.clusters.search(vectors, limit, within)
            cosines, keys = _best(np.hstack((cosines, more)), np.hstack((keys, others)), limit)
        there = keys >= 0
        return Match(keys[there], cosines[there])

    def background(self) -> NullDistribution:
        """Return the cosine of unrelated documents here; measured again when the index has grown or shrunk by much."""
        view = self._view
        count = view.total()
        if not 0.8 < count / max(self._measured[0], 1) < 1.25:
            keys = view.keys()
            places = np.linspace(0, len(keys) - 1, min(len(keys), RANDOM_PAIRS)).astype(np.intp)
            self._measured = (count, background(view.vectors_of(keys[places])))
        return self._measured[1]

    def cosines(self, vectors: Matrix, keys: Keys) -> NDArray[np.float32]:
        """Return each document's greatest cosine with any of `vectors`, NaN where it has none; shape (len(keys),)."""
        view = self._view
        result = np.full(len(keys), np.nan, np.float32)
        rows = view.recent.rows_of(keys)
        here = rows >= 0
        result[here] = (view.recent.vectors[rows[here]] @ vectors.T).max(axis=1)
        if view.clusters is not None:
            there = ~here & view.live.has(keys)
            result[there] = (view.clusters.vectors_of(keys[there]) @ vectors.T).max(axis=1)
        return result


def _state(clusters: IvfSegment | None, recent: FlatSegment, dead: Keys | None = None) -> _View:
    """Return a state with clusters in which the vectors of some keys are dead."""
    if clusters is None:
        return _View(None, Within(np.empty(0, np.uint8), np.empty(0, np.int64)), recent)
    every = clusters.everything()
    return _View(clusters, every if dead is None else clusters.without(every, dead), recent)


def _best(cosines: NDArray[np.float32], keys: Keys, limit: int) -> tuple[NDArray[np.float32], Keys]:
    """Return the best of each row, best first."""
    cosines = np.where(keys >= 0, cosines, -np.inf)
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :limit]
    return np.take_along_axis(cosines, order, 1), np.take_along_axis(keys, order, 1)
