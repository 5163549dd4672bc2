"""The vector index in this process, on FAISS: exact for small catalogs, clusters (IVF) for large ones."""

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search import integrity
from search.fusion import MINILM, RANDOM_PAIRS, NullDistribution, null_distribution
from search.thread_health import ThreadHealth, started
from search.types import DocumentGone, Keys, Match, VectorPut
from search.vectors.flat_segment import FlatSegment, best_of
from search.vectors.ivf_segment import IvfSegment, open_ivf
from search.vectors.memory_state import State

_log = logging.getLogger("search")

MAX_FLAT_VECTORS = 20_000
"""The number of vectors that a query is compared with exhaustively, in one or two milliseconds."""

_MAX_DEAD_SHARE = 0.2
"""The share of dead vectors in the IVF segment from which a merge removes them."""

_LEAST_MERGED = 1 / 8
"""The share of MAX_FLAT_VECTORS from which a merge moves vectors to an existing IVF segment ..."""

_MERGED_SHARE = 1 / 32
"""... if they are also this share of it: each merge writes the whole segment again."""

_MAX_BACKLOG = 4  # how many times MAX_FLAT_VECTORS may wait for a merge before `apply` blocks


class MemoryVectors:
    """`search.vectors.VectorIndex` in this process.

    New vectors go to the flat segment. When it has more than `max_flat`, a background thread merges it into a new IVF
    segment, and the old one serves searches meanwhile. Each change replaces the immutable state, so searches need no
    lock; `apply` must not run concurrently. The files around `path` are a snapshot for a fast start. They are used
    only if their sidecars match them, this catalog and this space.
    """

    is_remote = False

    def __init__(self, path: Path, catalog_id: str, space: str, dim: int, max_flat: int = MAX_FLAT_VECTORS) -> None:
        self.space = space
        self.path = path
        self._metadata = {"catalog": catalog_id, "space": space, "dim": dim, "metric": "inner product"}
        self._max_flat = max_flat
        self._lock = threading.Lock()
        self._merge_thread: threading.Thread | None = None
        self._health = ThreadHealth("vector merge", _log)
        self._changed_in_merge: list[Keys] = []
        self._null_distribution = (0, MINILM)
        self._saved_revision = 0
        self._ivf_file: str | None = None
        self.revision = 0
        self._state = State.of(None, FlatSegment.empty(dim))
        self.rebuild_reason = self._load()

    def _load(self) -> str | None:
        """Load the snapshot; return why it cannot be used, or None."""
        metadata = self._read_metadata(self._flat_path)
        if metadata is None:
            return "there is no intact snapshot of this catalog and model"
        ivf, name = None, metadata["clusters"]
        if name is not None:
            path = self.path.with_name(name)
            if self._read_metadata(path) is None:
                return "the IVF file of the snapshot is missing or damaged"
            ivf = open_ivf(path)
        self._ivf_file, stored = name, np.load(self._flat_path)
        self._state = State.of(ivf, FlatSegment.of(stored["keys"], stored["vectors"]), stored["dead"])
        self.revision = self._saved_revision = int(metadata["number"])
        return None

    def _read_metadata(self, path: Path) -> dict[str, Any] | None:
        """Return the sidecar of an intact file, or None if the file is damaged or of another catalog or space."""
        metadata = integrity.read_sidecar(path)
        expected = self._metadata.items()
        return metadata if metadata and all(metadata.get(name) == value for name, value in expected) else None

    @property
    def _flat_path(self) -> Path:
        return self.path.with_suffix(".npz")

    def save(self) -> None:
        """Write the snapshot, unless it is up to date."""
        with self._lock:
            state = self._state
            if self.revision == self._saved_revision or (state.ivf is not None and self._ivf_file is None):
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary, (keys, vectors) = self._flat_path.with_suffix(".tmp"), state.flat.live_part()
            with temporary.open("wb") as file:
                np.savez(file, keys=keys, vectors=vectors, dead=state.dead())
            # The keys `number` and `clusters` are the names in existing snapshots.
            snapshot = {"number": self.revision, "count": state.total(), "clusters": self._ivf_file}
            integrity.write_with_sidecar(temporary, self._flat_path, {**self._metadata, **snapshot})
            self._saved_revision = self.revision
            if self._merge_thread in (None, threading.current_thread()):  # a merge may just have written its IVF file
                self._remove_old_files()

    def _remove_old_files(self) -> None:
        for path in self.path.parent.glob(f"{self.path.stem}.*.clusters*"):
            if self._ivf_file is None or not path.name.startswith(self._ivf_file):
                path.unlink(missing_ok=True)

    def __len__(self) -> int:
        return self._state.total()

    def count_at(self, revision: int) -> int:
        """Return the number of vectors; the index in this process is never behind."""
        return len(self)

    def apply(self, changes: Sequence[VectorPut | DocumentGone], revision: int) -> None:
        """Apply `changes`. The index is then at `revision`, and searches find them.

        Waits for the merge if too many vectors wait for one, for example on the first read of a large catalog.
        """
        if len(self._state.flat.keys) > _MAX_BACKLOG * self._max_flat:
            self.wait_for_merge()
        with self._lock:
            if changes:
                self._state = self._with_changes(changes)
            self.revision = revision
            if self._merge_thread is None and self._needs_merge() and self._health.is_due():
                self._merge_thread = started(self._merge, "merge-vectors", self._health)

    def _with_changes(self, changes: Sequence[VectorPut | DocumentGone]) -> State:
        latest = {change.key: change for change in changes}
        keys = np.fromiter(latest, np.int64, len(latest))
        if self._merge_thread is not None:
            self._changed_in_merge.append(keys)
        state = self._state.without(keys)
        puts = [change for change in latest.values() if isinstance(change, VectorPut)]
        if not puts:
            return state
        put_keys = np.fromiter((put.key for put in puts), np.int64, len(puts))
        return state._replace(flat=state.flat.with_rows(put_keys, np.stack([put.vector for put in puts])))

    def _needs_merge(self) -> bool:
        state = self._state
        dead = len(state.ivf) - state.live.total() if state.ivf else 0
        return len(state.flat.keys) > self._flat_limit(state) or dead > _MAX_DEAD_SHARE * (state.live.total() + dead)

    def _flat_limit(self, state: State) -> float:
        """Return how many vectors the flat segment may have, which every search compares one by one."""
        if state.ivf is None:
            return self._max_flat
        return min(self._max_flat, max(_LEAST_MERGED * self._max_flat, _MERGED_SHARE * len(state.ivf)))

    def is_ready(self) -> bool:
        """Return true: the flat segment is searched exactly, so there is nothing to wait for."""
        return True

    def wait_for_merge(self) -> None:
        """Return when no merge is running."""
        if (thread := self._merge_thread) is not None:
            thread.join()

    def _merge(self) -> None:
        """Merge the segments into a new IVF segment until no merge is needed, then write the snapshot."""
        with self._health.attempt():  # if it fails, searches still find all vectors, but are slower
            needed = True
            while needed:
                with self._lock:
                    state, revision, self._changed_in_merge = self._state, self.revision, []
                merged = state.merged()
                file_name = self._write_ivf(merged, revision) if merged else None
                with self._lock:
                    self._replace_ivf(open_ivf(self.path.with_name(file_name)) if file_name else None, file_name)
                    needed = self._needs_merge()
            self.save()
        self._merge_thread = None

    def _write_ivf(self, ivf: IvfSegment, revision: int) -> str:
        """Write the segment to a file of its own and return the file's name: searches read it from there."""
        path = self.path.with_name(f"{self.path.stem}.{revision}.clusters")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.tmp")
        ivf.write(temporary)
        integrity.write_with_sidecar(temporary, path, self._metadata)
        return path.name

    def _replace_ivf(self, ivf: IvfSegment | None, file_name: str | None) -> None:
        """Replace the IVF segment. Vectors that changed during the merge stay in the flat segment."""
        changed = np.concatenate([np.empty(0, np.int64), *self._changed_in_merge])
        flat = self._state.flat
        kept = flat.live & np.isin(flat.keys, changed)
        kept_vectors = flat.vectors_at(np.flatnonzero(kept))
        self._state = State.of(ivf, FlatSegment.of(flat.keys[kept], kept_vectors), changed)
        self._ivf_file, self._saved_revision = file_name, -1

    def search(self, vectors: Matrix, limit: int, allowed: Keys | None = None) -> Match:
        """Return the `limit` documents nearest to each of the vectors, shape (queries, dim), by cosine.

        The results of the first vector come first, best first. A document may occur once per vector. With `allowed`,
        only these keys are found.
        """
        state, vectors = self._state, np.ascontiguousarray(vectors, np.float32)
        flat = state.flat
        selected = flat.live if allowed is None else flat.live & np.isin(flat.keys, allowed)
        cosines, keys = flat.search(vectors, limit, selected)
        if state.ivf is not None:
            selection = state.live if allowed is None else state.ivf.restrict(state.live, allowed)
            ivf_cosines, ivf_keys = state.ivf.search(vectors, limit, selection)
            cosines, keys = best_of([(cosines, keys), (ivf_cosines, ivf_keys)], limit)
        is_hit = keys >= 0
        return Match(keys[is_hit], cosines[is_hit])

    def null_distribution(self) -> NullDistribution:
        """Return the cosine of unrelated documents, measured again when the index has grown or shrunk by a fifth."""
        state = self._state
        count = state.total()
        if not 0.8 < count / max(self._null_distribution[0], 1) < 1.25:
            keys = state.keys()
            sample = np.linspace(0, len(keys) - 1, min(len(keys), RANDOM_PAIRS)).astype(np.intp)
            self._null_distribution = (count, null_distribution(state.vectors_of(keys[sample])))
        return self._null_distribution[1]

    def cosines(self, vectors: Matrix, keys: Keys) -> NDArray[np.float32]:
        """Return each document's maximum cosine with any of `vectors`, NaN if it has none; shape (len(keys),)."""
        state, vectors = self._state, np.ascontiguousarray(vectors, np.float32)
        rows = state.flat.rows_of(keys)
        in_flat = rows >= 0
        cosines = state.flat.cosines_at(vectors, rows)
        cosines[~in_flat] = np.nan
        if state.ivf is not None:
            in_ivf = ~in_flat & state.live.contains(keys)
            cosines[in_ivf] = (state.ivf.vectors_of(keys[in_ivf]) @ vectors.T).max(axis=1)
        return cosines
