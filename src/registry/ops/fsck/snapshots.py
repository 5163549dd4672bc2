"""Checks vector snapshots: their integrity, their catalog and their number of vectors."""

import functools
from collections.abc import Iterator
from pathlib import Path

from registry.domain.counts import counted
from registry.ops.fsck.drift import Discrepancy, derived
from registry.ops.fsck.parts import Parts
from search.inspection import IndexDamaged, read_snapshot_info, vector_snapshots
from search.integrity import sidecar


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield snapshots that a start would refuse, or should refuse."""
    for path in _snapshots(parts):
        for problem in _problems(parts, path):
            thing = path.relative_to(parts.settings.data_dir).as_posix()
            yield derived("vectors", thing, problem, functools.partial(_remove, path))


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
        yield "it belongs to another catalog"
    elif held.revision > number:
        yield f"it holds change {held.revision}, but the catalog has only {number}: was an older database restored?"
    else:
        count = int(parts.database.read("select count(*) from vectors where space = ?", (held.space,))[0][0])
        # The numbers are comparable only if nothing has changed since.
        if held.count != count and not parts.documents.vector_changes(held.space, held.revision, 1):
            yield f"it holds {counted(held.count, 'vector')}, but the database has {count}"


def drop_snapshots(parts: Parts, space: str) -> None:
    """Remove the snapshots of a space. The next start reads its vectors from the database."""
    for path in _snapshots(parts):
        try:
            if read_snapshot_info(path).space == space:
                _remove(path)
        except IndexDamaged:
            _remove(path)


def _remove(path: Path) -> None:
    """Remove a snapshot. Its IVF segment is useless without it; writing the next snapshot removes that file."""
    path.unlink(missing_ok=True)
    sidecar(path).unlink(missing_ok=True)
