"""Checks the vectors in Milvus against the catalog: the key and the revision of each, and a sample of the numbers."""

import functools
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from registry.domain.counts import counted
from registry.milvus.vectors import MilvusVectors
from registry.ops.fsck.drift import MAX_NAMES, CannotCheck, Discrepancy, Repair, derived, some_of
from registry.ops.fsck.parts import Parts
from registry.ops.fsck.vectors import dimensions_in_use
from search.vectors.base import VectorsUnavailable

_PAGE_ROWS = 5000
_SAMPLE = 2000
"""How many vectors of a space are compared number by number."""

_TOLERANCE = 1e-3


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield collections that differ from the catalog, and unused ones."""
    if parts.settings.search.vectors != "milvus":
        return
    try:
        dimensions = dimensions_in_use(parts)
        for space, dimension in dimensions.items():
            repair = _reported(functools.partial(_rebuild, parts, space, dimension))
            for problem in _problems(parts, parts.milvus_vectors(space, dimension)):
                yield derived("vectors", f"Milvus {space}", problem, repair)
        spaces = parts.documents.spaces_in_use(dimensions)
        for name in parts.milvus_collections().unused(spaces):
            repair = _reported(functools.partial(_drop_unused, parts, spaces))
            yield derived("vectors", f"Milvus {name}", "no space in use has this collection", repair)
    except VectorsUnavailable as error:
        raise CannotCheck(str(error)) from None


def _problems(parts: Parts, held: MilvusVectors) -> Iterator[str]:
    """Compare a collection with the catalog, which was read later. Vectors that changed since are ignored."""
    reached = held.stored_revision()
    if reached > (revision := parts.documents.revision()):
        yield f"it holds change {reached}, but the catalog has only {revision}: was an older database restored?"
        return
    differences = _Differences(parts, held.space, reached)
    last = 0
    sql = "select key, number from vectors where space = ? and key > ? order by key limit ?"
    while rows := parts.database.read(sql, (held.space, last, _PAGE_ROWS)):
        differences.add(dict(rows), held.revisions(last, rows[-1][0]))
        last = rows[-1][0]
    differences.add({}, held.revisions(last))
    yield from differences.problems()
    if changed := _changed(parts, held, differences.same):
        yield f"it holds other vectors of {counted(len(changed), 'document')}: {_named(parts, changed)}"


class _Differences:
    """The keys in which a collection differs from the catalog."""

    def __init__(self, parts: Parts, space: str, reached: int) -> None:
        self._parts = parts
        self._reached = reached
        gone = parts.database.read("select key from documents where gone = 1 and number > ?", (reached,))
        later = parts.database.read("select key from vectors where space = ? and number > ?", (space, reached))
        self._ignored = {key for (key,) in (*gone, *later)}
        self._missing: list[int] = []
        self._surplus: list[int] = []
        self._other: list[int] = []
        self.same: list[int] = []

    def add(self, expected: dict[int, int], held: dict[int, int]) -> None:
        """Compare the revisions of one range of keys."""
        current = {key: number for key, number in held.items() if number <= self._reached and key not in self._ignored}
        for key, number in expected.items():
            if key in self._ignored or held.get(key, 0) > self._reached:
                continue
            if key not in current:
                self._missing.append(key)
            else:
                (self.same if current[key] == number else self._other).append(key)
        self._surplus += current.keys() - expected.keys()

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each kind of difference."""
        for keys, problem, noun in (
            (self._missing, "it lacks the vectors of {}", "document"),
            (self._surplus, "it holds vectors of {}", "removed document"),
            (self._other, "it holds another revision of the vectors of {}", "document"),
        ):
            if keys:
                yield f"{problem.format(counted(len(keys), noun))}: {_named(self._parts, sorted(keys))}"


def _changed(parts: Parts, held: MilvusVectors, keys: list[int]) -> list[int]:
    """Return the documents of a sample whose vector in Milvus is not that of the catalog."""
    sample, changed = keys[:: len(keys) // _SAMPLE + 1], []
    for start in range(0, len(sample), _PAGE_ROWS):
        part = sample[start : start + _PAGE_ROWS]
        stored = held.stored(part)
        marks = ", ".join("?" * len(part))
        rows = parts.database.read(
            f"select key, vector from vectors where space = ? and key in ({marks})", (held.space, *part)
        )
        for key, vector in rows:
            numbers = np.frombuffer(vector, np.float32)
            if key in stored and not np.allclose(stored[key], numbers, rtol=0, atol=_TOLERANCE):
                changed.append(key)
    return sorted(changed)


def _named(parts: Parts, keys: list[int]) -> str:
    cards = parts.documents.cards(keys[:MAX_NAMES])
    names = [cards[key][0] if key in cards else f"document {key}" for key in keys[:MAX_NAMES]]
    return some_of(names, len(keys))


def _rebuild(parts: Parts, space: str, dimension: int) -> None:
    parts.milvus_vectors(space, dimension).rebuild()


def _drop_unused(parts: Parts, spaces: Iterable[str]) -> None:
    parts.milvus_collections().drop_unused(spaces)


def _reported(repair: Callable[[], None]) -> Repair:
    """Return a repair that says why it cannot run now."""

    def run() -> None:
        try:
            repair()
        except VectorsUnavailable as error:
            raise CannotCheck(str(error)) from None

    return run
