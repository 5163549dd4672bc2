"""All checks, one after the other, and what they found."""

import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from registry.indexing.active_space import serving_space
from registry.ops.fsck import blobs, folders, index, log, skills, snapshots, vectors, versions, words
from registry.ops.fsck.drift import CannotCheck, Discrepancy, Drift, Repair
from registry.ops.fsck.parts import Parts

Check = Callable[[Parts], Iterator[Discrepancy]]

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "skills": skills.check,
        "folders": folders.check,
        "versions": versions.check,
        "packages": blobs.check,
        "words indexes": words.check,
        "vectors": vectors.check,
        "vector snapshots": snapshots.check,
        "git index": index.check,
        "transparency log": log.check,
    }
)
"""The checks in their order: what a later one compares with, an earlier one has looked at, and repaired."""


class Report(msgspec.Struct, kw_only=True):
    """What was found. `unchecked` says why what could not be looked at; `repaired` is not there any more.

    `to_embed` and `to_push` count what the service has left to do, which is no drift.
    """

    drift: list[Drift]
    repaired: list[Drift]
    unchecked: dict[str, str]
    to_embed: int
    to_push: int


def inspect(parts: Parts, *, repair: bool = False, second_look_seconds: float = 1.0) -> Report:
    """Run every check and return what is amiss; with `repair` make what is derived anew, and look again.

    Where others may be writing, what is found counts only if it is still there `second_look_seconds` later.
    """
    find = functools.partial(_found, parts, second_look_seconds=second_look_seconds)
    drift: list[Drift] = []
    repaired: list[Drift] = []
    unchecked: dict[str, str] = {}
    for name, check in CHECKS.items():
        try:
            found = find(check)
            if repair and any(found.values()):
                before = found
                _make_anew(before.values())
                found = find(check)
                repaired += [one for one in before if one not in found]
            drift += found
        except CannotCheck as reason:
            unchecked[name] = str(reason)
    return Report(
        drift=drift, repaired=repaired, unchecked=unchecked, to_embed=_to_embed(parts), to_push=_to_push(parts)
    )


def _found(parts: Parts, check: Check, *, second_look_seconds: float) -> dict[Drift, Repair | None]:
    """Return what a check finds; where others write meanwhile, what it finds twice."""
    found = dict(check(parts))
    if found and not (parts.alone and parts.settings.database_path):
        time.sleep(second_look_seconds)
        again = dict(check(parts))
        found = {drift: made for drift, made in again.items() if drift in found}
    return found


def _make_anew(repairs: Iterable[Repair | None]) -> None:
    for repair in repairs:
        if repair is not None:
            repair()


def _to_embed(parts: Parts) -> int:
    space = serving_space(parts.database)
    return parts.documents.stale_count(space) if space else 0


def _to_push(parts: Parts) -> int:
    return int(parts.database.read("select count(*) from index_files where pushed < wanted")[0][0])
