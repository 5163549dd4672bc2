"""The vector index: exact answers, changes without waiting readers, a snapshot that is checked."""

import json
from pathlib import Path

import numpy as np
import pytest

from embeddings.base import Matrix
from search import integrity
from search.flat_vectors import FlatVectors
from search.types import DocumentGone, VectorPut


def unit_vectors(count: int, dim: int = 16) -> Matrix:
    drawn = np.random.default_rng(7).normal(size=(count, dim)).astype(np.float32)
    units: Matrix = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return units


VECTORS = unit_vectors(50)


def filled(folder: Path, space: str = "model/16") -> FlatVectors:
    index = FlatVectors(folder / "vectors.faiss", "catalog", space, 16)
    index.apply([VectorPut(number + 1, number * 10, vector) for number, vector in enumerate(VECTORS)], 50)
    return index


def test_the_nearest_come_first_with_their_cosine(tmp_path: Path) -> None:
    hits = filled(tmp_path).search(VECTORS[3:4], 5)
    expected = np.argsort(-(VECTORS @ VECTORS[3]))[:5] * 10
    assert hits.keys.tolist() == expected.tolist()
    assert hits.scores[0] == pytest.approx(1.0)


def test_only_allowed_documents_are_found(tmp_path: Path) -> None:
    index = filled(tmp_path)
    assert index.search(VECTORS[3:4], 5, np.array([40, 999])).keys.tolist() == [40]
    assert index.search(VECTORS[3:4], 5, np.array([], np.int64)).keys.tolist() == []


def test_an_empty_index_finds_nothing(tmp_path: Path) -> None:
    assert FlatVectors(tmp_path / "v.faiss", "catalog", "s", 16).search(VECTORS[0:1], 5).keys.tolist() == []


def test_a_replaced_vector_takes_the_old_ones_place_and_a_removed_one_is_gone(tmp_path: Path) -> None:
    index = filled(tmp_path)
    index.apply([VectorPut(51, 30, VECTORS[4]), DocumentGone(52, 40)], 52)
    assert index.search(VECTORS[4:5], 1).keys.tolist() == [30]
    assert (len(index), index.number) == (49, 52)


def test_the_latest_of_several_changes_to_one_document_counts(tmp_path: Path) -> None:
    index = filled(tmp_path)
    index.apply([VectorPut(51, 30, VECTORS[4]), DocumentGone(52, 30), VectorPut(53, 30, VECTORS[9])], 53)
    assert index.cosines(VECTORS[9:10], np.array([30]))[0] == pytest.approx(1.0)
    assert len(index) == 50


def test_cosines_of_unknown_documents_are_nan(tmp_path: Path) -> None:
    cosines = filled(tmp_path).cosines(VECTORS[0:1], np.array([0, 5, 10_000]))
    assert cosines[0] == pytest.approx(1.0)
    assert np.isnan(cosines[1:]).all()


def test_a_snapshot_restores_the_index(tmp_path: Path) -> None:
    filled(tmp_path).save()
    again = FlatVectors(tmp_path / "vectors.faiss", "catalog", "model/16", 16)
    assert (again.number, len(again), again.rebuilt_because) == (50, 50, None)
    assert again.search(VECTORS[3:4], 1).keys[0] == 30


@pytest.mark.parametrize("position", [0, 40, 300, -1])
def test_a_flipped_byte_in_the_snapshot_is_noticed(tmp_path: Path, position: int) -> None:
    filled(tmp_path).save()
    path = tmp_path / "vectors.faiss"
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    again = FlatVectors(path, "catalog", "model/16", 16)
    assert (again.number, len(again)) == (0, 0)


@pytest.mark.parametrize(
    "facts", [{"dim": 7}, {"space": "other"}, {"catalog": "other"}, {"metric": "l2"}, {"sha256": ""}]
)
def test_a_snapshot_of_something_else_is_not_used(tmp_path: Path, facts: dict[str, object]) -> None:
    filled(tmp_path).save()
    described = integrity.sidecar(tmp_path / "vectors.faiss")
    described.write_text(json.dumps(json.loads(described.read_text()) | facts))
    assert len(FlatVectors(tmp_path / "vectors.faiss", "catalog", "model/16", 16)) == 0


@pytest.mark.parametrize("missing", ["vectors.faiss", "vectors.faiss.json"])
def test_half_a_snapshot_is_not_used(tmp_path: Path, missing: str) -> None:
    filled(tmp_path).save()
    (tmp_path / missing).unlink()
    assert FlatVectors(tmp_path / "vectors.faiss", "catalog", "model/16", 16).number == 0
