"""Runs all checks and reports their results."""

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from registry.config.settings import Settings
from registry.db import DatabaseError, DatabaseUnusable
from registry.indexing.active_space import active_space
from registry.ops.fsck import (
    blobs,
    counts,
    damage,
    examples,
    folders,
    index,
    log,
    milvus,
    skills,
    snapshots,
    uploads,
    vectors,
    versions,
    words,
)
from registry.ops.fsck.drift import CannotCheck, Discrepancy, Drift, Repair
from registry.ops.fsck.parts import Parts

Check = Callable[[Parts], Iterator[Discrepancy]]

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "database": damage.check,
        "skills": skills.check,
        "examples": examples.check,
        "folders": folders.check,
        "versions": versions.check,
        "packages": blobs.check,
        "uploads": uploads.check,
        "words indexes": words.check,
        "vectors": vectors.check,
        "counts": counts.check,
        "vector snapshots": snapshots.check,
        "vectors in Milvus": milvus.check,
        "git index": index.check,
        "transparency log": log.check,
    }
)
"""The checks in order: each one relies on data that an earlier one has checked and repaired."""


class Report(msgspec.Struct, kw_only=True):
    """The result of all checks. `unchecked` has the reason for each check that could not run.

    `repaired` are the differences that a repair removed. `to_embed` and `to_push` count pending work of the service,
    which is not a difference. `notes` say what else could be checked, and how.
    """

    drift: list[Drift]
    repaired: list[Drift]
    unchecked: dict[str, str]
    to_embed: int
    to_push: int
    notes: list[str]


def inspect(parts: Parts, *, repair: bool = False, recheck_seconds: float = 1.0) -> Report:
    """Run every check and return the differences; with `repair`, rebuild derived data and check it again.

    If others may be writing, a difference counts only if it still exists `recheck_seconds` later.
    """
    find = functools.partial(_find, parts, recheck_seconds=recheck_seconds)
    drift: list[Drift] = []
    repaired: list[Drift] = []
    unchecked: dict[str, str] = {}
    for name, check in CHECKS.items():
        try:
            differences = find(check)
            if repair and any(differences.values()):
                before = differences
                _rebuild(before.values())
                differences = find(check)
                repaired += [difference for difference in before if difference not in differences]
            drift += differences
        except (CannotCheck, DatabaseUnusable) as reason:
            unchecked[name] = str(reason)
    to_embed = to_push = 0
    try:
        to_embed, to_push = _to_embed(parts), _to_push(parts)
    except DatabaseUnusable as reason:
        unchecked["pending work"] = str(reason)
    notes = [note] if (note := _unchecked_damage(parts)) else []
    return Report(drift=drift, repaired=repaired, unchecked=unchecked, to_embed=to_embed, to_push=to_push, notes=notes)


def inspect_unreadable(settings: Settings, reason: DatabaseUnusable) -> Report:
    """Return what is damaged in a database that cannot be opened for `reason`. Raises it again if nothing is."""
    drift = damage.of_unreadable(settings)
    if not drift:
        raise reason
    others = dict.fromkeys((name for name in CHECKS if name != "database"), "the database cannot be opened")
    return Report(drift=drift, repaired=[], unchecked=others, to_embed=0, to_push=0, notes=[])


def _unchecked_damage(parts: Parts) -> str | None:
    try:
        return parts.database.unchecked_damage()
    except DatabaseError:  # the check of the database has told
        return None


def _find(parts: Parts, check: Check, *, recheck_seconds: float) -> dict[Drift, Repair | None]:
    """Return the differences that a check finds, twice if others may be writing."""
    differences = dict(check(parts))
    if differences and not (parts.alone and parts.settings.database_path):
        time.sleep(recheck_seconds)
        again = dict(check(parts))
        differences = {drift: repair for drift, repair in again.items() if drift in differences}
    return differences


def _rebuild(repairs: Iterable[Repair | None]) -> None:
    for repair in repairs:
        if repair is not None:
            repair()


def _to_embed(parts: Parts) -> int:
    space = active_space(parts.database)
    return parts.documents.stale_count(space) if space else 0


def _to_push(parts: Parts) -> int:
    return int(parts.database.read("select count(*) from index_files where pushed < wanted")[0][0])
