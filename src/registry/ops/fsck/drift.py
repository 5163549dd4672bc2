"""What a check finds: where two things that must agree do not, and how the derived one is made anew."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

Area = Literal["rows", "blobs", "words", "vectors", "index", "log"]

REPAIR = "run it with --repair"

Repair = Callable[[], None]
"""Makes one thing anew from the truth as it is when it is called. Doing it twice changes nothing more."""


class Drift(msgspec.Struct, kw_only=True, frozen=True):
    """One disagreement: `thing` is what it is about, `problem` what is wrong, `advice` what to do about it."""

    area: Area
    thing: str
    problem: str
    advice: str
    repairable: bool


class Discrepancy(NamedTuple):
    """A disagreement and what repairs it, None where truth itself is missing or contradicts itself."""

    drift: Drift
    repair: Repair | None


class CannotCheck(Exception):
    """An area cannot be looked at; the message says why."""


def derived(area: Area, thing: str, problem: str, repair: Repair) -> Discrepancy:
    """Return a disagreement in what is made from the truth, and can be made again."""
    return Discrepancy(Drift(area=area, thing=thing, problem=problem, advice=REPAIR, repairable=True), repair)


def lost(area: Area, thing: str, problem: str, advice: str) -> Discrepancy:
    """Return a disagreement that nothing here can settle."""
    return Discrepancy(Drift(area=area, thing=thing, problem=problem, advice=advice, repairable=False), None)


BACKUP = "restore it from a backup: nothing else has it"
EVIDENCE = "somebody or something has changed the log: compare with checkpoints that others keep, restore a backup"
