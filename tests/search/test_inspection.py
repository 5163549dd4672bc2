"""Index files as they are read by who does not own them."""

from pathlib import Path

import numpy as np
import pytest

from search.inspection import IndexDamaged, snapshot_held, snapshots
from search.types import VectorPut
from search.vectors.faiss_index import FaissVectors


def clustered_snapshot(folder: Path) -> Path:
    """Write a snapshot of vectors of which most are in clusters, and return it."""
    vectors = np.random.default_rng(7).normal(size=(300, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = FaissVectors(folder / "vectors-space.faiss", "catalog", "space", 16, exact=100)
    index.apply([VectorPut(key, key, vector) for key, vector in enumerate(vectors, 1)], 300)
    index.settle()
    index.save()
    (path,) = snapshots(folder)
    return path


def test_a_snapshot_says_what_it_holds(tmp_path: Path) -> None:
    held = snapshot_held(clustered_snapshot(tmp_path))
    assert (held.catalog, held.space, held.number, held.count) == ("catalog", "space", 300, 300)
    assert held.clusters is not None


@pytest.mark.parametrize("pattern", ["vectors-*.npz", "vectors-*.clusters"])
def test_a_flipped_byte_in_any_of_its_files_is_noticed(tmp_path: Path, pattern: str) -> None:
    snapshot = clustered_snapshot(tmp_path)
    (path,) = tmp_path.glob(pattern)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexDamaged, match="checksum"):
        snapshot_held(snapshot)
