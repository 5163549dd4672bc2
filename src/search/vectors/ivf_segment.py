"""The many vectors of a large catalog, in clusters, of which a search looks at the nearest: an IVF index of FAISS.

Measured against HNSW (docs/decisions/2026-11-21-many-vectors.md): as quick at the same recall, but rows can be left out
and filters hold without a loss, and what is new is added without building anew.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from search.types import Keys

LOOKED_AT = 16_000
"""How many vectors that may be found a search looks at: when there are fewer, at all of them."""

_CLUSTERS_BY_ROOT = 4
_SAMPLES_A_CLUSTER = 32
_ROUNDS = 6
_DECODED_AT_ONCE = 50_000

_BIT = np.left_shift(np.uint8(1), np.arange(8, dtype=np.uint8))


class Within(NamedTuple):
    """Which vectors of clusters may be found: a bit for every key from 0 on, and how many there are in each cluster."""

    bits: NDArray[np.uint8]
    counts: NDArray[np.int64]

    def total(self) -> int:
        """Return how many may be found."""
        return int(self.counts.sum())

    def has(self, keys: Keys) -> NDArray[np.bool_]:
        """Return of each key whether it may be found."""
        known = (keys >= 0) & (keys < 8 * len(self.bits))
        inside = np.where(known, keys, 0)
        return known & (self.bits[inside >> 3] & _BIT[inside & 7] != 0) if len(self.bits) else known

    def keys(self) -> Keys:
        """Return the keys of all that may be found, ascending."""
        return np.flatnonzero(np.unpackbits(self.bits, bitorder="little"))


class IvfSegment:
    """Unit vectors in clusters round centroids, each number in 16 bits. They never change; safe from any thread."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._lists = faiss.downcast_InvertedLists(index.invlists)
        sizes = [self._lists.list_size(number) for number in range(index.nlist)]
        self.counts = np.array(sizes, np.int64)
        self._centroids: Matrix = index.quantizer.reconstruct_n(0, index.nlist)
        self._places = self._find_places()

    def _find_places(self) -> Keys:
        """Return where the vector of every key is (cluster x 2^32 + place in it, -1 for none), and tell FAISS."""
        every = [self._keys_of(number) for number in range(len(self.counts))]
        places = np.full(max((int(keys.max(initial=-1)) for keys in every), default=-1) + 1, -1, np.int64)
        for number, keys in enumerate(every):
            places[keys] = (number << 32) + np.arange(len(keys))
        direct = self._index.direct_map
        faiss.copy_array_to_vector(places, direct.array)
        direct.type = faiss.DirectMap.Array  # type: ignore[attr-defined]
        shared: Keys = faiss.rev_swig_ptr(direct.array.data(), len(places)) if len(places) else places
        return shared

    def _keys_of(self, number: int) -> Keys:
        size = int(self.counts[number])
        keys: Keys = faiss.rev_swig_ptr(self._lists.get_ids(number), size) if size else np.empty(0, np.int64)
        return keys

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def trained_for(self) -> int:
        """The number of vectors for which so many clusters are right."""
        return (len(self.counts) // _CLUSTERS_BY_ROOT) ** 2

    def everything(self) -> Within:
        """Return that all may be found."""
        return Within(np.packbits(self._places >= 0, bitorder="little"), self.counts)

    def only(self, within: Within, keys: Keys) -> Within:
        """Return that of those within only these may be found."""
        chosen = keys[within.has(keys)]
        mask = np.zeros(8 * len(within.bits), np.bool_)
        mask[chosen] = True
        return Within(np.packbits(mask, bitorder="little"), self._count(chosen))

    def without(self, within: Within, keys: Keys) -> Within:
        """Return that of those within these may not be found; a key may be given more than once."""
        gone = np.unique(keys[within.has(keys)])
        bits = within.bits.copy()
        np.bitwise_and.at(bits, gone >> 3, ~_BIT[gone & 7])
        return Within(bits, within.counts - self._count(gone))

    def _count(self, keys: Keys) -> NDArray[np.int64]:
        return np.bincount(self._places[keys] >> 32, minlength=len(self.counts))

    def vectors_of(self, keys: Keys) -> Matrix:
        """Return the vectors of keys that are all here, shape (len(keys), dimension)."""
        vectors: Matrix = self._index.reconstruct_batch(keys)
        return vectors

    def search(self, vectors: Matrix, limit: int, within: Within) -> tuple[NDArray[np.float32], Keys]:
        """Return cosines and keys of the nearest to each vector, best first, shape (len(vectors), limit); -1: none.

        Clusters are looked into from the nearest on, those with nothing to find left out, until LOOKED_AT vectors
        that may be found have been compared. So a filter that lets few through is searched exactly.
        """
        probed, likeness = self._nearest_clusters(vectors, within.counts)
        # faiss's own stubs know the C++ constructors only, not the Python ones it puts in their place.
        selector = faiss.IDSelectorBitmap(within.bits) if within.total() < len(self) else None  # type: ignore[call-arg, arg-type]
        parameters = faiss.SearchParametersIVF(nprobe=probed.shape[1], sel=selector)  # type: ignore[call-arg]
        cosines = np.empty((len(vectors), limit), np.float32)
        keys = np.empty((len(vectors), limit), np.int64)
        # Not by search_preassigned: that takes the number of clusters from the index, which other threads share.
        self._index.search_preassigned_c(
            len(vectors), faiss.swig_ptr(vectors), limit, faiss.swig_ptr(probed), faiss.swig_ptr(likeness),
            faiss.swig_ptr(cosines), faiss.swig_ptr(keys), False, parameters, None,
        )  # fmt: skip
        return cosines, keys

    def _nearest_clusters(self, vectors: Matrix, counts: NDArray[np.int64]) -> tuple[Keys, NDArray[np.float32]]:
        """Return the clusters to look into for each vector, padded with -1, and the cosines of their centroids."""
        likeness = np.where(counts > 0, vectors @ self._centroids.T, -2)
        # Twice as many as are needed on an average are nearly always enough, and the rest need no order.
        order = _nearest_first(likeness, 2 * LOOKED_AT * len(counts) // max(1, int(counts.sum())))
        if counts[order].sum(axis=1).min() < LOOKED_AT:
            order = _nearest_first(likeness, likeness.shape[1])
        before = np.cumsum(counts[order], axis=1) - counts[order]
        wanted = (before < LOOKED_AT) & (counts[order] > 0)
        most = max(1, int(wanted.sum(axis=1).max()))
        probed = np.where(wanted, order, -1)[:, :most]
        near = np.take_along_axis(likeness, order[:, :most], axis=1)
        return np.ascontiguousarray(probed, np.int64), np.ascontiguousarray(near, np.float32)

    def write(self, path: Path) -> None:
        """Write everything into a file."""
        faiss.write_index(self._index, str(path))

    def with_more(self, within: Within, keys: Keys, vectors: Matrix) -> "IvfSegment":
        """Return clusters of those within and of more vectors; round new centroids when there are twice as many."""
        count = within.total() + len(keys)
        if count > 2 * self.trained_for:
            return clustered(count, lambda: itertools.chain(self._decoded(within.keys()), [(keys, vectors)]))
        index = _empty(self._index.d, self._centroids)
        for number in np.flatnonzero(self.counts).tolist():
            some, codes = self._encoded(number, within)
            index.invlists.add_entries(number, len(some), faiss.swig_ptr(some), faiss.swig_ptr(codes))
            index.ntotal += len(some)
        index.add_with_ids(vectors, keys)
        return IvfSegment(index)

    def _encoded(self, number: int, within: Within) -> tuple[Keys, NDArray[np.uint8]]:
        """Return the keys and encoded vectors of those of a cluster that are within."""
        keys, width = self._keys_of(number), self._lists.code_size
        chosen = within.has(keys)
        codes = faiss.rev_swig_ptr(self._lists.get_codes(number), len(keys) * width).reshape(-1, width)
        return keys[chosen], codes[chosen]

    def _decoded(self, keys: Keys) -> Iterator[tuple[Keys, Matrix]]:
        for start in range(0, len(keys), _DECODED_AT_ONCE):
            some = keys[start : start + _DECODED_AT_ONCE]
            yield some, self.vectors_of(some)


def _nearest_first(likeness: NDArray[np.float32], number: int) -> Keys:
    """Return the places of the greatest values of each row, greatest first."""
    if number < likeness.shape[1]:
        best = np.argpartition(-likeness, number, axis=1)[:, :number]
        return np.take_along_axis(best, np.argsort(-np.take_along_axis(likeness, best, axis=1), axis=1), axis=1)
    return np.argsort(-likeness, axis=1)


def clustered(count: int, parts: Callable[[], Iterable[tuple[Keys, Matrix]]]) -> IvfSegment:
    """Return clusters of `count` vectors, which `parts` returns with their keys, as often as it is called."""
    number = max(1, round(_CLUSTERS_BY_ROOT * count**0.5))
    share, drawn = _SAMPLES_A_CLUSTER * number / count, np.random.default_rng(0)
    sample = np.concatenate([vectors[drawn.random(len(vectors)) < share] for _, vectors in parts()])
    means = faiss.Clustering(sample.shape[1], number)
    means.niter, means.spherical, means.min_points_per_centroid = _ROUNDS, True, 1
    means.max_points_per_centroid = 2 * _SAMPLES_A_CLUSTER
    means.train(np.ascontiguousarray(sample), faiss.IndexFlatIP(sample.shape[1]))
    index = _empty(sample.shape[1], faiss.vector_to_array(means.centroids).reshape(number, -1))
    for keys, vectors in parts():
        index.add_with_ids(vectors, keys)
    return IvfSegment(index)


def read_clusters(path: Path) -> IvfSegment:
    """Return clusters that are read from a file as they are needed; the file may be deleted, but not changed."""
    index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
    lists: Any = faiss.downcast_InvertedLists(index.invlists)
    lists.prefetch_nthread = 1  # one thread reads all of it now, so that the first searches need not
    every = np.arange(index.nlist, dtype=np.int64)
    lists.prefetch_lists(faiss.swig_ptr(every), len(every))
    return IvfSegment(index)


def _empty(dim: int, centroids: Matrix) -> Any:
    quantizer = faiss.IndexFlatIP(dim)
    quantizer.add(centroids)
    half, cosine = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
    index: Any = faiss.IndexIVFScalarQuantizer(quantizer, dim, len(centroids), half, cosine, False)
    index.is_trained = True  # its centroids are there, and 16 bit floats need none
    return index
