"""Checks the vectors: each has a document and a known space, the length 1, and the dimension that it should have."""

import functools
from collections.abc import Iterable, Iterator

import numpy as np

from embeddings import EmbeddingUnavailable
from registry.database.counts import rebuild
from registry.domain.counts import counted
from registry.indexing.active_space import ActiveSpace
from registry.indexing.embedder import choose_embedder
from registry.ops.fsck.drift import MAX_NAMES, CannotCheck, Discrepancy, derived, lost, some_of
from registry.ops.fsck.parts import Parts
from registry.ops.fsck.snapshots import drop_snapshots

_BATCH_ROWS = 2000
_LENGTH_TOLERANCE = 1e-3
_ORPHANED = "not exists (select 1 from documents d where d.key = vectors.key and d.gone = 0)"


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield vectors that are not needed, and invalid ones."""
    dimensions = dimensions_in_use(parts)
    strays = f"select space, count(*) from vectors where {_ORPHANED} group by space order by space"
    for space, count in parts.database.read(strays):
        repair = functools.partial(_remove_orphaned, parts)
        yield derived("vectors", space, f"there are vectors of {counted(count, 'removed document')}", repair)
    for space in parts.documents.spaces():
        if space in dimensions:
            yield from _of_space(parts, space, dimensions[space])
        elif dimensions and space not in parts.documents.backfill_spaces():
            advice = "run 'skill-registry reindex' with the settings of the service to remove them"
            yield lost("vectors", space, "no model in use has this space", advice)


def dimensions_in_use(parts: Parts) -> dict[str, int]:
    """Return the dimension of each space in use. Raises CannotCheck without the model of the service."""
    try:
        spaces = ActiveSpace(parts.database, parts.settings, choose_embedder(parts.settings))
    except EmbeddingUnavailable as error:
        raise CannotCheck(str(error)) from None
    try:
        return spaces.dimensions()
    finally:
        if spaces.embedder is not None:
            spaces.embedder.close()


def _of_space(parts: Parts, space: str, dimension: int) -> Iterator[Discrepancy]:
    damaged = list(_damaged(parts, space, dimension))
    if damaged:
        names = [skill_id for skill_id, _ in parts.documents.cards(damaged[:MAX_NAMES]).values()]
        numbers = f"the right length or {dimension} numbers"
        problem = f"{len(damaged)} of its vectors do not have {numbers}: {some_of(names, len(damaged))}"
        yield derived("vectors", space, problem, functools.partial(_remove_vectors, parts, space, damaged))


def _damaged(parts: Parts, space: str, dimension: int) -> Iterator[int]:
    last = 0
    sql = "select key, vector from vectors where space = ? and key > ? order by key limit ?"
    while rows := parts.database.read(sql, (space, last, _BATCH_ROWS)):
        for key, vector in rows:
            if not _is_sound(vector, dimension):
                yield key
        last = rows[-1][0]


def _is_sound(vector: bytes, dimension: int) -> bool:
    if len(vector) != dimension * np.dtype(np.float32).itemsize:
        return False
    length = float(np.linalg.norm(np.frombuffer(vector, np.float32).astype(np.float64)))
    return abs(length - 1.0) <= _LENGTH_TOLERANCE  # false for NaN too


def _remove_orphaned(parts: Parts) -> None:
    with parts.database.write() as transaction:
        transaction.execute(f"delete from vectors where {_ORPHANED}")
        rebuild(transaction)


def _remove_vectors(parts: Parts, space: str, keys: Iterable[int]) -> None:
    """Remove vectors, so that their documents are embedded again, and the snapshots that contain them."""
    with parts.database.write() as transaction:
        for key in keys:
            transaction.execute("delete from vectors where space = ? and key = ?", (space, key))
            # A new change number makes the embedding process look at the document again.
            transaction.execute("update documents set number = ? where key = ?", (transaction.next_revision(), key))
        rebuild(transaction)
    drop_snapshots(parts, space)
