"""What every vector index keeps to, exact or approximate: changes at once, filters that lose nothing, no ghosts."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from search.types import DocumentGone, VectorPut
from search.vectors.base import VectorIndex
from search.vectors.faiss_index import FaissVectors
from support.vectors import clustered_vectors, nearest, put, recall

SMALL = clustered_vectors(500)
LARGE = clustered_vectors(25_000)
QUERIES = clustered_vectors(25_040)[25_000:]

Open = Callable[[Path], VectorIndex]

INDEXES: dict[str, Open] = {
    "exact": lambda folder: FaissVectors(folder / "v.faiss", "catalog", "space", 32, exact=100_000),
    "clusters": lambda folder: FaissVectors(folder / "v.faiss", "catalog", "space", 32, exact=100),
}


def settled(index: VectorIndex) -> VectorIndex:
    """Wait until what an index does in the background is done."""
    getattr(index, "settle", lambda: None)()
    return index


@pytest.fixture(params=INDEXES)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> VectorIndex:
    return INDEXES[request.param](tmp_path)


@pytest.fixture
def index(empty: VectorIndex) -> VectorIndex:
    put(empty, range(0, 5000, 10), SMALL)
    return settled(empty)


def test_the_nearest_come_first_with_their_cosine(index: VectorIndex) -> None:
    hits = index.search(SMALL[3:4], 5)
    assert hits.keys.tolist() == nearest(SMALL, np.arange(0, 5000, 10), SMALL[3], 5)
    assert hits.scores == pytest.approx(np.sort(SMALL @ SMALL[3])[::-1][:5], abs=2e-3)


def test_each_of_several_vectors_finds_its_own_and_the_first_vectors_come_first(index: VectorIndex) -> None:
    hits = index.search(SMALL[[3, 90]], 2)
    assert (hits.keys[0], hits.keys[2], len(hits.keys)) == (30, 900, 4)


def test_only_allowed_documents_are_found(index: VectorIndex) -> None:
    assert index.search(SMALL[3:4], 5, np.array([40, 999, 100_000])).keys.tolist() == [40]
    assert index.search(SMALL[3:4], 5, np.array([], np.int64)).keys.tolist() == []


def test_an_empty_index_finds_nothing(empty: VectorIndex) -> None:
    assert empty.search(SMALL[:1], 5).keys.tolist() == []
    assert np.isnan(empty.cosines(SMALL[:1], np.array([1]))).all()
    assert len(empty) == 0


def test_fewer_documents_than_asked_for_are_all_found(empty: VectorIndex) -> None:
    put(empty, [7, 8], SMALL[:2])
    assert sorted(empty.search(SMALL[:1], 5).keys.tolist()) == [7, 8]


def test_a_replaced_vector_is_found_at_its_new_place_only_and_a_removed_one_nowhere(index: VectorIndex) -> None:
    put(index, [30], SMALL[4:5])
    index.apply([DocumentGone(index.number + 1, 40)], index.number + 1)
    assert index.search(SMALL[4:5], 1).keys.tolist() == [30]
    assert index.search(SMALL[3:4], 500).keys.tolist().count(30) == 1
    assert (len(index), index.number) == (499, 502)


def test_the_latest_of_several_changes_to_one_document_counts(index: VectorIndex) -> None:
    changes = [VectorPut(501, 30, SMALL[4]), DocumentGone(502, 30), VectorPut(503, 30, SMALL[9])]
    index.apply(changes, 503)
    assert index.cosines(SMALL[9:10], np.array([30]))[0] == pytest.approx(1.0, abs=2e-3)
    assert len(index) == 500


def test_cosines_are_the_greatest_of_any_vector_and_nan_for_unknown_documents(index: VectorIndex) -> None:
    cosines = index.cosines(SMALL[[7, 0]], np.array([0, 5, 10_000, 70]))
    assert cosines[[0, 3]] == pytest.approx([1.0, 1.0], abs=2e-3)
    assert np.isnan(cosines[1:3]).all()


def test_what_was_removed_is_never_found_however_much_it_is(index: VectorIndex) -> None:
    gone = list(range(0, 5000, 20))
    for start in range(0, len(gone), 50):
        some = gone[start : start + 50]
        index.apply([DocumentGone(index.number + 1, key) for key in some], index.number + 1)
        assert not set(index.search(SMALL[::2][start : start + 5], 20).keys.tolist()) & set(gone[: start + 50])
    assert set(settled(index).search(SMALL[:1], 500).keys.tolist()) == set(range(10, 5000, 20))


def test_an_index_can_be_emptied_and_filled_again(index: VectorIndex) -> None:
    index.apply([DocumentGone(501, key) for key in range(0, 5000, 10)], 501)
    assert settled(index).search(SMALL[:1], 5).keys.tolist() == []
    put(index, [3], SMALL[:1])
    assert (settled(index).search(SMALL[:1], 5).keys.tolist(), len(index)) == ([3], 1)


def test_what_changes_all_the_time_is_always_found_once(index: VectorIndex) -> None:
    stop = threading.Event()
    seen: list[int] = []

    def look() -> None:
        while not stop.is_set():
            seen.append(index.search(SMALL[3:4], 600).keys.tolist().count(30))

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(150):
        put(index, [30, *range(5001 + number * 5, 5006 + number * 5)], SMALL[number : number + 6])
    stop.set()
    reader.join()
    assert set(seen) <= {0, 1}  # more than 600 documents are there in the end, so it may also be too far away
    assert len(settled(index)) == 1250


@pytest.fixture(scope="module", params=INDEXES)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> VectorIndex:
    opened = INDEXES[request.param](tmp_path_factory.mktemp("large"))
    put(opened, range(1, 25_001), LARGE)
    return settled(opened)


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.9, 1.0])
def test_filters_lose_nothing_whatever_share_they_let_through(large: VectorIndex, share: float) -> None:
    keys = np.flatnonzero(np.random.default_rng(5).random(25_000) < share) + 1
    found = [large.search(query[None], 10, keys) for query in QUERIES]
    assert recall(found, [nearest(LARGE[keys - 1], keys, query, 10) for query in QUERIES]) >= 0.97
    assert all(np.isin(one.keys, keys).all() for one in found)


@pytest.mark.parametrize("away", [0.1, 0.5, 0.9])
def test_filters_lose_nothing_when_what_is_near_is_not_let_through(large: VectorIndex, away: float) -> None:
    found, right = [], []
    for query in QUERIES:
        keys = np.argsort(LARGE @ query)[: int(away * 25_000)][::2] + 1
        found.append(large.search(query[None], 10, keys))
        right.append(nearest(LARGE[keys - 1], keys, query, 10))
    assert recall(found, right) >= 0.95


def test_without_a_filter_nearly_all_of_the_nearest_are_found(large: VectorIndex) -> None:
    found = [large.search(query[None], 10) for query in QUERIES]
    assert recall(found, [nearest(LARGE, np.arange(1, 25_001), query, 10) for query in QUERIES]) >= 0.97


def test_the_background_is_that_of_unrelated_documents(large: VectorIndex) -> None:
    cosines = (LARGE[::150] @ LARGE[::150].T)[np.triu_indices(167, 1)]
    assert large.background().mean == pytest.approx(cosines.mean(), abs=0.02)
    assert large.background().spread == pytest.approx(cosines.std(), abs=0.03)
