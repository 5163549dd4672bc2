"""Checks the counts of the catalog, which lists and the status show, against the rows that they count."""

import functools
from collections.abc import Iterator

from registry.database.counts import correct, differences
from registry.ops.fsck.drift import Discrepancy, derived
from registry.ops.fsck.parts import Parts


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield the counts that differ."""
    if differing := list(differences(parts.database)):
        yield derived("rows", "counts", "; ".join(differing), functools.partial(_correct, parts))


def _correct(parts: Parts) -> None:
    correct(parts.database)
