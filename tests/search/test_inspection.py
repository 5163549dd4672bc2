"""Inspection of vector snapshots."""

from pathlib import Path

import numpy as np
import pytest

from search.inspection import IndexDamaged, read_snapshot_info, vector_snapshots
from search.types import VectorPut
from search.vectors.memory_index import MemoryVectors


def clustered_snapshot(folder: Path) -> Path:
    """Write a snapshot with an IVF file, and return its path."""
    vectors = np.random.default_rng(7).normal(size=(300, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = MemoryVectors(folder / "vectors-space.faiss", "catalog", "space", 16, max_flat=100)
    index.apply([VectorPut(key, key, vector) for key, vector in enumerate(vectors, 1)], 300)
    index.wait_for_merge()
    index.save()
    (path,) = vector_snapshots(folder)
    return path


def test_the_sidecar_describes_the_snapshot(tmp_path: Path) -> None:
    info = read_snapshot_info(clustered_snapshot(tmp_path))
    assert (info.catalog, info.space, info.revision, info.count) == ("catalog", "space", 300, 300)
    assert info.ivf_file is not None


@pytest.mark.parametrize("pattern", ["vectors-*.npz", "vectors-*.clusters"])
def test_a_flipped_byte_in_any_file_is_detected(tmp_path: Path, pattern: str) -> None:
    snapshot = clustered_snapshot(tmp_path)
    (path,) = tmp_path.glob(pattern)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexDamaged, match="checksum"):
        read_snapshot_info(snapshot)
