"""The vector index in this process: its snapshot, and how what is new comes into the clusters."""

import json
import threading
from pathlib import Path

import faiss
import numpy as np
import pytest

from search import integrity
from search.types import DocumentGone
from search.vectors import ivf_segment
from search.vectors.faiss_index import FaissVectors
from support.vectors import clustered_vectors, nearest, put, recall

VECTORS = clustered_vectors(600)
KEYS = np.arange(1, 601)

SIZES = {"exact": 1000, "clusters": 200}


def opened(folder: Path, exact: int, space: str = "space") -> FaissVectors:
    return FaissVectors(folder / "vectors.faiss", "catalog", space, 32, exact)


@pytest.fixture(params=SIZES.values(), ids=SIZES)
def exact(request: pytest.FixtureRequest, tmp_path: Path) -> int:
    """Save a snapshot of an index with recent, changed and removed vectors; return how many of it are exact."""
    index = opened(tmp_path, request.param)
    put(index, KEYS[:500], VECTORS[:500])
    index.settle()
    put(index, KEYS[500:], VECTORS[500:])
    put(index, [1], VECTORS[1:2])
    index.apply([DocumentGone(602, 2)], 602)
    index.save()
    return int(request.param)


def test_a_snapshot_restores_the_index(tmp_path: Path, exact: int) -> None:
    again = opened(tmp_path, exact)
    assert (again.number, len(again), again.rebuilt_because) == (602, 599, None)
    assert again.search(VECTORS[1:2], 1).keys.tolist() == [1]
    assert 2 not in again.search(VECTORS[1:2], 600).keys
    assert again.search(VECTORS[550:551], 1).keys.tolist() == [551]


def test_a_restored_index_goes_on_as_one_that_never_ended(tmp_path: Path, exact: int) -> None:
    again = opened(tmp_path, exact)
    more = clustered_vectors(1000, seed=8)
    put(again, range(1001, 2001), more)
    again.settle()
    again.save()
    third = opened(tmp_path, exact)
    assert (third.number, len(third)) == (1602, 1599)
    assert third.search(more[5:6], 1).keys.tolist() == [1006]


def test_what_changes_again_and_again_while_clusters_are_made_is_one_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = opened(tmp_path, 200)
    put(index, KEYS[:500], VECTORS[:500])
    index.settle()
    merge_may_end, write = threading.Event(), ivf_segment.IvfSegment.write

    def slowly(made: ivf_segment.IvfSegment, path: Path) -> None:
        merge_may_end.wait()
        write(made, path)

    monkeypatch.setattr(ivf_segment.IvfSegment, "write", slowly)
    put(index, range(1001, 1301), VECTORS[:300])
    for vector in VECTORS[500:510]:
        put(index, [30], vector[None])
    merge_may_end.set()
    index.settle()
    assert len(index) == 800
    assert index.search(VECTORS[509:510], 800).keys.tolist().count(30) == 1


def test_files_of_earlier_snapshots_are_removed(tmp_path: Path, exact: int) -> None:
    before = sorted(path.suffix for path in tmp_path.iterdir())
    again = opened(tmp_path, exact)
    put(again, range(1001, 1301), VECTORS[:300])
    again.settle()
    again.save()
    assert sorted(path.suffix for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("position", [0, 40, 300, 5000, -1])
def test_a_flipped_byte_in_any_file_is_noticed(tmp_path: Path, exact: int, position: int) -> None:
    for path in list(tmp_path.iterdir()):
        sound = path.read_bytes()
        if position >= len(sound):
            continue
        damaged = bytearray(sound)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        again = opened(tmp_path, exact)
        assert (again.number, len(again), bool(again.rebuilt_because)) == (0, 0, True), path.name
        path.write_bytes(sound)


@pytest.mark.parametrize(
    "facts", [{"dim": 7}, {"space": "other"}, {"catalog": "other"}, {"metric": "l2"}, {"sha256": ""}]
)
def test_a_snapshot_of_something_else_is_not_used(tmp_path: Path, exact: int, facts: dict[str, object]) -> None:
    described = integrity.sidecar(tmp_path / "vectors.npz")
    described.write_text(json.dumps(json.loads(described.read_text()) | facts))
    assert len(opened(tmp_path, exact)) == 0


def test_half_a_snapshot_is_not_used(tmp_path: Path, exact: int) -> None:
    for path in list(tmp_path.iterdir()):
        sound = path.read_bytes()
        path.unlink()
        assert (opened(tmp_path, exact).number, path.name) == (0, path.name)
        path.write_bytes(sound)


def test_a_small_catalog_is_searched_exactly_to_the_last_bit(tmp_path: Path) -> None:
    index, flat = opened(tmp_path, 1000), faiss.IndexFlatIP(32)
    put(index, KEYS, VECTORS)
    flat.add(VECTORS)
    cosines, rows = flat.search(VECTORS[7:9], 50)
    hits = index.search(VECTORS[7:9], 50)
    assert hits.scores.tolist() == cosines.ravel().tolist()
    assert hits.keys.tolist() == KEYS[rows].ravel().tolist()
    assert index.cosines(VECTORS[7:8], KEYS).tolist() == (VECTORS @ VECTORS[7:8].T)[:, 0].tolist()


def test_clusters_that_are_not_all_looked_into_find_nearly_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ivf_segment, "LOOKED_AT", 1500)
    vectors, queries = clustered_vectors(10_060)[:10_000], clustered_vectors(10_060)[10_000:]
    index = opened(tmp_path, 1000)
    for start in range(0, 10_000, 1000):
        put(index, range(start + 1, start + 1001), vectors[start : start + 1000])
    index.settle()
    for keys in (np.arange(1, 10_001), np.arange(1, 10_001, 3)):
        found = [index.search(query[None], 10, keys) for query in queries]
        assert recall(found, [nearest(vectors[keys - 1], keys, query, 10) for query in queries]) >= 0.95


def test_changes_made_while_clusters_are_made_are_kept(tmp_path: Path) -> None:
    index, drawn = opened(tmp_path, 50), np.random.default_rng(3)
    truth: dict[int, int] = {}
    for _ in range(200):
        keys = drawn.choice(400, 6, replace=False) + 1
        rows = drawn.integers(0, 600, 6)
        put(index, keys, VECTORS[rows])
        truth |= dict(zip(keys.tolist(), rows.tolist(), strict=True))
        gone = int(drawn.integers(1, 400))
        index.apply([DocumentGone(index.number + 1, gone)], index.number + 1)
        truth.pop(gone, None)
    index.settle()
    every = np.array(sorted(truth))
    assert len(index) == len(truth)
    cosines = VECTORS[[truth[key] for key in every]] @ VECTORS[0]
    assert index.cosines(VECTORS[:1], every) == pytest.approx(cosines, abs=2e-3)
    assert sorted(index.search(VECTORS[:1], 600).keys.tolist()) == every.tolist()


def test_where_clusters_cannot_be_written_everything_is_found_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way of a folder")
    index = FaissVectors(tmp_path / "file" / "vectors.faiss", "catalog", "space", 32, 100)
    put(index, KEYS, VECTORS)
    index.settle()
    assert index.search(VECTORS[7:8], 1).keys.tolist() == [8]
    assert len(index) == 600
