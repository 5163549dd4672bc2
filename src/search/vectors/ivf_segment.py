"""The IVF segment of the vector index: vectors in clusters, of which a search probes the nearest, on FAISS.

Measured against HNSW (docs/decisions/2026-11-21-many-vectors.md): equally fast at the same recall, but rows can be
deleted, filters lose nothing, and new vectors are added without a rebuild.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search.types import Keys
from search.vectors.selection import BIT, Selection

PROBED_VECTORS = 16_000
"""The number of selected vectors that a search compares: all of them if there are fewer."""

_CLUSTERS_PER_ROOT = 4  # clusters per square root of the number of vectors
_SAMPLES_PER_CLUSTER = 32
_TRAINING_ITERATIONS = 6
_DECODE_BATCH = 50_000


class IvfSegment:
    """Unit vectors in clusters around centroids, stored as 16-bit floats. Immutable; safe to use from any thread."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._lists = faiss.downcast_InvertedLists(index.invlists)
        sizes = [self._lists.list_size(cluster) for cluster in range(index.nlist)]
        self.counts = np.array(sizes, np.int64)
        self._centroids: Matrix = index.quantizer.reconstruct_n(0, index.nlist)
        self._locations = self._build_direct_map()

    def _build_direct_map(self) -> Keys:
        """Return the location of each key's vector, -1 for none, and install it as the direct map of the FAISS index.

        A location is the cluster x 2^32 + the offset in its inverted list.
        """
        keys_by_cluster = [self._keys_of(cluster) for cluster in range(len(self.counts))]
        size = max((int(keys.max(initial=-1)) for keys in keys_by_cluster), default=-1) + 1
        locations = np.full(size, -1, np.int64)
        for cluster, keys in enumerate(keys_by_cluster):
            locations[keys] = (cluster << 32) + np.arange(len(keys))
        direct_map = self._index.direct_map
        faiss.copy_array_to_vector(locations, direct_map.array)
        direct_map.type = faiss.DirectMap.Array  # type: ignore[attr-defined]
        shared: Keys = faiss.rev_swig_ptr(direct_map.array.data(), size) if size else locations
        return shared

    def _keys_of(self, cluster: int) -> Keys:
        size = int(self.counts[cluster])
        keys: Keys = faiss.rev_swig_ptr(self._lists.get_ids(cluster), size) if size else np.empty(0, np.int64)
        return keys

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def trained_for(self) -> int:
        """The number of vectors for which the number of clusters is right."""
        return (len(self.counts) // _CLUSTERS_PER_ROOT) ** 2

    def select_all(self) -> Selection:
        """Return the selection of all vectors."""
        return Selection(np.packbits(self._locations >= 0, bitorder="little"), self.counts)

    def restrict(self, selection: Selection, keys: Keys) -> Selection:
        """Return the part of a selection that has these keys."""
        selected = keys[selection.contains(keys)]
        mask = np.zeros(8 * len(selection.bits), np.bool_)
        mask[selected] = True
        return Selection(np.packbits(mask, bitorder="little"), self._count_by_cluster(selected))

    def exclude(self, selection: Selection, keys: Keys) -> Selection:
        """Return a selection without these keys, which may contain duplicates."""
        excluded = np.unique(keys[selection.contains(keys)])
        bits = selection.bits.copy()
        np.bitwise_and.at(bits, excluded >> 3, ~BIT[excluded & 7])
        return Selection(bits, selection.counts - self._count_by_cluster(excluded))

    def _count_by_cluster(self, keys: Keys) -> NDArray[np.int64]:
        return np.bincount(self._locations[keys] >> 32, minlength=len(self.counts))

    def vectors_of(self, keys: Keys) -> Matrix:
        """Return the vectors of keys that are all in the segment, shape (len(keys), dimension)."""
        vectors: Matrix = self._index.reconstruct_batch(keys)
        return vectors

    def search(self, vectors: Matrix, limit: int, selection: Selection) -> tuple[NDArray[np.float32], Keys]:
        """Return cosines and keys of the nearest to each vector, best first, padded with -1; (len(vectors), limit).

        The search probes clusters by distance, skips those without selected vectors, and stops after PROBED_VECTORS
        selected vectors. A narrow filter is therefore searched exactly.
        """
        probed, centroid_cosines = self._nearest_clusters(vectors, selection.counts)
        # The stubs of FAISS have only the C++ constructors, not the Python ones that replace them.
        selector = faiss.IDSelectorBitmap(selection.bits) if selection.total() < len(self) else None  # type: ignore[call-arg, arg-type]
        parameters = faiss.SearchParametersIVF(nprobe=probed.shape[1], sel=selector)  # type: ignore[call-arg]
        cosines = np.empty((len(vectors), limit), np.float32)
        keys = np.empty((len(vectors), limit), np.int64)
        # Not search_preassigned: it reads the number of clusters from the index, which other threads share.
        self._index.search_preassigned_c(
            len(vectors), faiss.swig_ptr(vectors), limit, faiss.swig_ptr(probed), faiss.swig_ptr(centroid_cosines),
            faiss.swig_ptr(cosines), faiss.swig_ptr(keys), False, parameters, None,
        )  # fmt: skip
        return cosines, keys

    def _nearest_clusters(self, vectors: Matrix, counts: NDArray[np.int64]) -> tuple[Keys, NDArray[np.float32]]:
        """Return the clusters to probe for each vector, padded with -1, and the cosines of their centroids."""
        cosines = np.where(counts > 0, vectors @ self._centroids.T, -2)
        # Twice the average number needed is nearly always enough, and the other clusters need not be sorted.
        order = _top(cosines, 2 * PROBED_VECTORS * len(counts) // max(1, int(counts.sum())))
        if counts[order].sum(axis=1).min() < PROBED_VECTORS:
            order = _top(cosines, cosines.shape[1])
        preceding = np.cumsum(counts[order], axis=1) - counts[order]
        needed = (preceding < PROBED_VECTORS) & (counts[order] > 0)
        width = max(1, int(needed.sum(axis=1).max()))
        probed = np.where(needed, order, -1)[:, :width]
        probed_cosines = np.take_along_axis(cosines, order[:, :width], axis=1)
        return np.ascontiguousarray(probed, np.int64), np.ascontiguousarray(probed_cosines, np.float32)

    def write(self, path: Path) -> None:
        """Write the segment to a file."""
        faiss.write_index(self._index, str(path))

    def merge(self, selection: Selection, keys: Keys, vectors: Matrix) -> "IvfSegment":
        """Return a segment of the selected and the new vectors, with new centroids if their number has doubled."""
        count = selection.total() + len(keys)
        if count > 2 * self.trained_for:
            return build_ivf(count, lambda: itertools.chain(self._decode(selection.keys()), [(keys, vectors)]))
        index = _empty_index(self._index.d, self._centroids)
        for cluster in np.flatnonzero(self.counts).tolist():
            kept, codes = self._encoded(cluster, selection)
            index.invlists.add_entries(cluster, len(kept), faiss.swig_ptr(kept), faiss.swig_ptr(codes))
            index.ntotal += len(kept)
        index.add_with_ids(vectors, keys)
        return IvfSegment(index)

    def _encoded(self, cluster: int, selection: Selection) -> tuple[Keys, NDArray[np.uint8]]:
        """Return the keys and the encoded vectors of a cluster's selected vectors."""
        keys, width = self._keys_of(cluster), self._lists.code_size
        selected = selection.contains(keys)
        codes = faiss.rev_swig_ptr(self._lists.get_codes(cluster), len(keys) * width).reshape(-1, width)
        return keys[selected], codes[selected]

    def _decode(self, keys: Keys) -> Iterator[tuple[Keys, Matrix]]:
        for start in range(0, len(keys), _DECODE_BATCH):
            batch = keys[start : start + _DECODE_BATCH]
            yield batch, self.vectors_of(batch)


def _top(values: NDArray[np.float32], count: int) -> Keys:
    """Return the indices of the `count` greatest values of each row, greatest first."""
    if count < values.shape[1]:
        best = np.argpartition(-values, count, axis=1)[:, :count]
        return np.take_along_axis(best, np.argsort(-np.take_along_axis(values, best, axis=1), axis=1), axis=1)
    return np.argsort(-values, axis=1)


def build_ivf(count: int, batches: Callable[[], Iterable[tuple[Keys, Matrix]]]) -> IvfSegment:
    """Train centroids and return a segment of `count` vectors. Each call of `batches` yields all keys and vectors."""
    clusters = max(1, round(_CLUSTERS_PER_ROOT * count**0.5))
    share, rng = _SAMPLES_PER_CLUSTER * clusters / count, np.random.default_rng(0)
    sample = np.concatenate([vectors[rng.random(len(vectors)) < share] for _, vectors in batches()])
    kmeans = faiss.Clustering(sample.shape[1], clusters)
    kmeans.niter, kmeans.spherical, kmeans.min_points_per_centroid = _TRAINING_ITERATIONS, True, 1
    kmeans.max_points_per_centroid = 2 * _SAMPLES_PER_CLUSTER
    kmeans.train(np.ascontiguousarray(sample), faiss.IndexFlatIP(sample.shape[1]))
    index = _empty_index(sample.shape[1], faiss.vector_to_array(kmeans.centroids).reshape(clusters, -1))
    for keys, vectors in batches():
        index.add_with_ids(vectors, keys)
    return IvfSegment(index)


def open_ivf(path: Path) -> IvfSegment:
    """Map the file of a segment into memory. The file may be deleted while it is in use, but must not change."""
    index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
    lists: Any = faiss.downcast_InvertedLists(index.invlists)
    lists.prefetch_nthread = 1  # one thread reads the whole file now, so that the first searches are fast
    clusters = np.arange(index.nlist, dtype=np.int64)
    lists.prefetch_lists(faiss.swig_ptr(clusters), len(clusters))
    return IvfSegment(index)


def _empty_index(dim: int, centroids: Matrix) -> Any:
    quantizer = faiss.IndexFlatIP(dim)
    quantizer.add(centroids)
    half, cosine = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
    index: Any = faiss.IndexIVFScalarQuantizer(quantizer, dim, len(centroids), half, cosine, False)
    index.is_trained = True  # the centroids are given, and 16-bit floats need no training
    return index
