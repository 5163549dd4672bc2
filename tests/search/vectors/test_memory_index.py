"""The vector index in this process: its snapshot, and merges of the flat segment into the IVF segment."""

import json
import threading
from pathlib import Path

import faiss
import numpy as np
import pytest

from search import integrity
from search.types import DocumentGone
from search.vectors import ivf_segment
from search.vectors.memory_index import MemoryVectors
from support.threads import no_new_threads
from support.vectors import clustered_vectors, nearest, put, recall
from support.waiting import wait_until

VECTORS = clustered_vectors(600)
KEYS = np.arange(1, 601)

SIZES = {"flat": 1000, "ivf": 200}


def open_index(folder: Path, max_flat: int, space: str = "space") -> MemoryVectors:
    return MemoryVectors(folder / "vectors.faiss", "catalog", space, 32, max_flat)


@pytest.fixture(params=SIZES.values(), ids=list(SIZES))
def max_flat(request: pytest.FixtureRequest, tmp_path: Path) -> int:
    """Save a snapshot of an index with new, replaced and deleted vectors; return its `max_flat`."""
    index = open_index(tmp_path, request.param)
    put(index, KEYS[:580], VECTORS[:580])
    index.wait_for_merge()
    put(index, KEYS[580:], VECTORS[580:])
    put(index, [1], VECTORS[1:2])
    index.apply([DocumentGone(602, 2)], 602)
    index.save()
    return int(request.param)


def test_a_snapshot_restores_the_index(tmp_path: Path, max_flat: int) -> None:
    restored = open_index(tmp_path, max_flat)
    assert (restored.revision, len(restored), restored.rebuild_reason) == (602, 599, None)
    assert restored.search(VECTORS[1:2], 1).keys.tolist() == [1]
    assert 2 not in restored.search(VECTORS[1:2], 600).keys
    assert restored.search(VECTORS[550:551], 1).keys.tolist() == [551]


def test_a_restored_index_accepts_changes(tmp_path: Path, max_flat: int) -> None:
    restored = open_index(tmp_path, max_flat)
    more = clustered_vectors(1000, seed=8)
    put(restored, range(1001, 2001), more)
    restored.wait_for_merge()
    restored.save()
    reopened = open_index(tmp_path, max_flat)
    assert (reopened.revision, len(reopened)) == (1602, 1599)
    assert reopened.search(more[5:6], 1).keys.tolist() == [1006]


def test_a_document_that_changes_several_times_during_a_merge_is_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(tmp_path, 200)
    put(index, KEYS[:500], VECTORS[:500])
    index.wait_for_merge()
    continue_merge, write = threading.Event(), ivf_segment.IvfSegment.write

    def write_later(segment: ivf_segment.IvfSegment, path: Path) -> None:
        continue_merge.wait()
        write(segment, path)

    monkeypatch.setattr(ivf_segment.IvfSegment, "write", write_later)
    put(index, range(1001, 1301), VECTORS[:300])
    for vector in VECTORS[500:510]:
        put(index, [30], vector[None])
    continue_merge.set()
    index.wait_for_merge()
    assert len(index) == 800
    assert index.search(VECTORS[509:510], 800).keys.tolist().count(30) == 1


def test_few_new_vectors_are_compared_one_by_one_beside_an_ivf_segment(tmp_path: Path) -> None:
    index = open_index(tmp_path, 200)
    put(index, KEYS[:500], VECTORS[:500])
    index.wait_for_merge()
    put(index, KEYS[500:525], VECTORS[500:525])
    index.wait_for_merge()
    assert len(index._state.flat.keys) == 25
    put(index, KEYS[525:600], VECTORS[525:600])
    index.wait_for_merge()
    assert (len(index._state.flat.keys), len(index)) == (0, 600)


def test_a_merge_starts_once_a_thread_can_be_started(tmp_path: Path) -> None:
    index = open_index(tmp_path, 200)
    with no_new_threads():
        put(index, KEYS[:590], VECTORS[:590])
    assert len(index._state.flat.keys) == 590
    wait_until(index._health.is_due)
    put(index, KEYS[590:], VECTORS[590:])
    index.wait_for_merge()
    assert len(index._state.flat.keys) == 0
    assert index.search(VECTORS[550:551], 1).keys.tolist() == [551]


def test_files_of_earlier_snapshots_are_removed(tmp_path: Path, max_flat: int) -> None:
    before = sorted(path.suffix for path in tmp_path.iterdir())
    restored = open_index(tmp_path, max_flat)
    put(restored, range(1001, 1301), VECTORS[:300])
    restored.wait_for_merge()
    restored.save()
    assert sorted(path.suffix for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("position", [0, 40, 300, 5000, -1])
def test_a_flipped_byte_in_any_file_is_detected(tmp_path: Path, max_flat: int, position: int) -> None:
    for path in list(tmp_path.iterdir()):
        intact = path.read_bytes()
        if position >= len(intact):
            continue
        damaged = bytearray(intact)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        restored = open_index(tmp_path, max_flat)
        assert (restored.revision, len(restored), bool(restored.rebuild_reason)) == (0, 0, True), path.name
        path.write_bytes(intact)


@pytest.mark.parametrize(
    "metadata", [{"dim": 7}, {"space": "other"}, {"catalog": "other"}, {"metric": "l2"}, {"sha256": ""}]
)
def test_a_snapshot_of_something_else_is_not_used(tmp_path: Path, max_flat: int, metadata: dict[str, object]) -> None:
    sidecar = integrity.sidecar(tmp_path / "vectors.npz")
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | metadata))
    assert len(open_index(tmp_path, max_flat)) == 0


def test_an_incomplete_snapshot_is_not_used(tmp_path: Path, max_flat: int) -> None:
    for path in list(tmp_path.iterdir()):
        intact = path.read_bytes()
        path.unlink()
        assert (open_index(tmp_path, max_flat).revision, path.name) == (0, path.name)
        path.write_bytes(intact)


@pytest.mark.parametrize("count", [1, 40, 600, 7000])
@pytest.mark.parametrize("share", [1.0, 0.9, 0.2, 0.0])
@pytest.mark.parametrize("limit", [1, 50, 700])
def test_a_small_catalog_is_searched_exactly(tmp_path: Path, count: int, share: float, limit: int) -> None:
    vectors, keys = clustered_vectors(count, seed=count), np.arange(1, count + 1)
    index, reference = open_index(tmp_path, 10_000), faiss.IndexFlatIP(32)
    put(index, keys, vectors)
    allowed = keys[np.random.default_rng(count).random(count) < share]
    reference.add(vectors[allowed - 1])
    queries = clustered_vectors(count + 3, seed=count)[count:]
    for asked in (queries[:1], queries):
        hits = index.search(asked, limit, None if share == 1 else allowed)
        cosines, rows = reference.search(asked, min(limit, len(allowed)) or 1)
        found = rows >= 0
        assert hits.scores == pytest.approx(cosines[found], abs=1e-6)
        assert len(hits.keys) == found.sum() == len(asked) * min(limit, len(allowed))
        own = np.repeat(np.arange(len(asked)), found.sum(axis=1))
        assert hits.scores == pytest.approx((vectors[hits.keys - 1] * asked[own]).sum(axis=1), abs=1e-6)
        assert set(hits.keys.tolist()) <= set(allowed.tolist())


def test_recall_if_not_all_clusters_are_probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivf_segment, "PROBED_VECTORS", 1500)
    vectors, queries = clustered_vectors(10_060)[:10_000], clustered_vectors(10_060)[10_000:]
    index = open_index(tmp_path, 1000)
    for start in range(0, 10_000, 1000):
        put(index, range(start + 1, start + 1001), vectors[start : start + 1000])
    index.wait_for_merge()
    for keys in (np.arange(1, 10_001), np.arange(1, 10_001, 3)):
        found = [index.search(query[None], 10, keys) for query in queries]
        assert recall(found, [nearest(vectors[keys - 1], keys, query, 10) for query in queries]) >= 0.95


def test_changes_during_merges_are_kept(tmp_path: Path) -> None:
    index, rng = open_index(tmp_path, 50), np.random.default_rng(3)
    row_by_key: dict[int, int] = {}
    for _ in range(200):
        keys = rng.choice(400, 6, replace=False) + 1
        rows = rng.integers(0, 600, 6)
        put(index, keys, VECTORS[rows])
        row_by_key |= dict(zip(keys.tolist(), rows.tolist(), strict=True))
        deleted = int(rng.integers(1, 400))
        index.apply([DocumentGone(index.revision + 1, deleted)], index.revision + 1)
        row_by_key.pop(deleted, None)
    index.wait_for_merge()
    keys = np.array(sorted(row_by_key))
    assert len(index) == len(row_by_key)
    cosines = VECTORS[[row_by_key[key] for key in keys]] @ VECTORS[0]
    assert index.cosines(VECTORS[:1], keys) == pytest.approx(cosines, abs=2e-3)
    assert sorted(index.search(VECTORS[:1], 600).keys.tolist()) == keys.tolist()


def test_all_vectors_are_found_if_the_ivf_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way of a folder")
    index = MemoryVectors(tmp_path / "file" / "vectors.faiss", "catalog", "space", 32, 100)
    put(index, KEYS, VECTORS)
    index.wait_for_merge()
    assert index.search(VECTORS[7:8], 1).keys.tolist() == [8]
    assert len(index) == 600
