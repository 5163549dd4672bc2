"""Snapshots of vectors: whole, of this catalog, and with as many vectors as there were."""

import functools
from collections.abc import Iterator
from pathlib import Path

from registry.ops.fsck.drift import Discrepancy, derived
from registry.ops.fsck.parts import Parts
from search.inspection import IndexDamaged, read_snapshot_info, vector_snapshots
from search.integrity import sidecar


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield snapshots that a start would not, or should not, trust."""
    for path in _snapshots(parts):
        for problem in _problems(parts, path):
            thing = path.relative_to(parts.settings.data_dir).as_posix()
            yield derived("vectors", thing, problem, functools.partial(_drop, path))


def _snapshots(parts: Parts) -> list[Path]:
    return [path for folder in parts.index_folders for path in vector_snapshots(folder)]


def _problems(parts: Parts, path: Path) -> Iterator[str]:
    try:
        held = read_snapshot_info(path)
    except IndexDamaged as damage:
        yield f"it is damaged: {damage}"
        return
    number = parts.documents.revision()
    if held.catalog != parts.documents.catalog_id:
        yield "it is of another catalog"
    elif held.revision > number:
        yield f"it holds change {held.revision}, and the catalog has only {number}: was an older database restored?"
    else:
        count = parts.documents.vector_count(held.space)
        # Only where nothing has changed since can the numbers be compared.
        if held.count != count and not parts.documents.vector_changes(held.space, held.revision, 1):
            yield f"it holds {held.count} vectors, and the database {count}"


def drop_snapshots(parts: Parts, space: str) -> None:
    """Remove the snapshots of one space; the next start reads its vectors from the database."""
    for path in _snapshots(parts):
        try:
            if read_snapshot_info(path).space == space:
                _drop(path)
        except IndexDamaged:
            _drop(path)


def _drop(path: Path) -> None:
    """Remove a snapshot; clusters without one are of no use to anybody, and go when the next one is written."""
    path.unlink(missing_ok=True)
    sidecar(path).unlink(missing_ok=True)
