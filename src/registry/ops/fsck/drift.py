"""The result of a check: a difference between two stores, and the repair of the derived one."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import msgspec

from registry.domain.file_names import printable_name

Area = Literal["rows", "blobs", "words", "vectors", "index", "log"]

REPAIR = "run it with --repair"

MAX_NAMES = 5
"""The most documents that a problem names."""

Repair = Callable[[], None]
"""Rebuilds one thing from the current source of truth. It is idempotent."""


class Drift(msgspec.Struct, kw_only=True, frozen=True):
    """One difference: `thing` is the object, `problem` what is wrong with it, `advice` what to do."""

    area: Area
    thing: str
    problem: str
    advice: str
    repairable: bool


class Discrepancy(NamedTuple):
    """A difference and its repair; None if a source of truth itself is missing or inconsistent."""

    drift: Drift
    repair: Repair | None


class CannotCheck(Exception):
    """An area cannot be checked; the message says why."""


def some_of(names: Sequence[str], count: int) -> str:
    """Return the names of the first of `count` documents, at most MAX_NAMES, and whether there are more."""
    return ", ".join(names) + (", …" if count > MAX_NAMES else "")


def derived(area: Area, thing: str, problem: str, repair: Repair) -> Discrepancy:
    """Return a difference in derived data, which can be rebuilt."""
    return Discrepancy(
        Drift(area=area, thing=printable_name(thing), problem=problem, advice=REPAIR, repairable=True), repair
    )


def lost(area: Area, thing: str, problem: str, advice: str) -> Discrepancy:
    """Return a difference that cannot be repaired automatically."""
    return Discrepancy(
        Drift(area=area, thing=printable_name(thing), problem=problem, advice=advice, repairable=False), None
    )


BACKUP = "restore it from a backup, the only other copy"
FORKED = "restore the newest database, or start a new identity with 'skill-registry admin log new-identity'"
EVIDENCE = (
    "the log was changed: compare it with checkpoints that others have saved, then restore a backup, or rebuild the "
    "database (docs/operations.md, Rebuild a registry)"
)
