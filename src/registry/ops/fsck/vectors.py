"""Vectors: each of a document there is, in a space of use, and a unit vector of that space's dimension."""

import functools
from collections.abc import Iterable, Iterator

import numpy as np

from embeddings import EmbeddingUnavailable
from registry.indexing.active_space import ActiveSpace
from registry.ops.fsck.drift import CannotCheck, Discrepancy, derived, lost
from registry.ops.fsck.parts import Parts
from registry.ops.fsck.snapshots import drop_snapshots

_A_TIME = 2000
_FAR_FROM_ONE = 1e-3
_NAMED = 5
_OF_NOTHING = "not exists (select 1 from documents d where d.key = vectors.key and d.gone = 0)"


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield vectors nobody needs, and those that cannot be what a model has made."""
    dimensions = _dimensions(parts)
    strays = f"select space, count(*) from vectors where {_OF_NOTHING} group by space order by space"
    for space, count in parts.database.read(strays):
        repair = functools.partial(parts.run, f"delete from vectors where {_OF_NOTHING}")
        yield derived("vectors", space, f"there are vectors of {count} documents that are gone", repair)
    for space in parts.documents.spaces():
        if space in dimensions:
            yield from _of_space(parts, space, dimensions[space])
        elif dimensions and space not in parts.documents.filling():
            advice = "'skill-registry reindex', with the settings of the service, removes them"
            yield lost("vectors", space, "its vectors are of no model that is in use", advice)


def _dimensions(parts: Parts) -> dict[str, int]:
    try:
        spaces = ActiveSpace(parts.database, parts.settings)
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
        names = [skill_id for skill_id, _ in parts.documents.cards(damaged[:_NAMED]).values()]
        shown = ", ".join(names) + (", …" if len(damaged) > _NAMED else "")
        problem = f"{len(damaged)} of its vectors are not unit vectors of {dimension} numbers: {shown}"
        yield derived("vectors", space, problem, functools.partial(_embed_again, parts, space, damaged))


def _damaged(parts: Parts, space: str, dimension: int) -> Iterator[int]:
    last = 0
    sql = "select key, vector from vectors where space = ? and key > ? order by key limit ?"
    while rows := parts.database.read(sql, (space, last, _A_TIME)):
        yield from (key for key, vector in rows if not _is_sound(vector, dimension))
        last = rows[-1][0]


def _is_sound(vector: bytes, dimension: int) -> bool:
    if len(vector) != dimension * np.dtype(np.float32).itemsize:
        return False
    length = float(np.linalg.norm(np.frombuffer(vector, np.float32).astype(np.float64)))
    return abs(length - 1.0) <= _FAR_FROM_ONE  # false for NaN too


def _embed_again(parts: Parts, space: str, keys: Iterable[int]) -> None:
    """Remove vectors, so that their documents count as not embedded, and the snapshots that hold them."""
    with parts.database.write() as transaction:
        for key in keys:
            transaction.execute("delete from vectors where space = ? and key = ?", (space, key))
            # As if the document had changed, so that a process that embeds looks at it again.
            transaction.execute("update documents set number = ? where key = ?", (transaction.next_number(), key))
    drop_snapshots(parts, space)
