"""Requirements on the version of a skill, such as `1.4.0`, `^1.2` and `~1.4.1`.

`^` admits versions that keep the leftmost number that is not zero, `~` those that keep MAJOR.MINOR (MAJOR if only that
is given), as in Cargo and npm.
"""

import re
from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from registry.domain.models import version_parts

VersionRequirement = Annotated[
    str,
    Meta(
        pattern=r"^(?:(?:0|[1-9][0-9]{0,8})\.(?:0|[1-9][0-9]{0,8})\.(?:0|[1-9][0-9]{0,8})"
        r"|[\^~](?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){0,2})$(?!\n)",
        extra={"rule": "must be a version such as 1.4.0, or a range such as ^1.2 or ~1.4.1"},
    ),
]

_NUMBER = re.compile(r"[0-9]+")

_Parts = tuple[int, ...]


def is_exact(requirement: str) -> bool:
    """Return whether a requirement names a single version."""
    return requirement[0] not in "^~"


def admits(requirement: str | None, version: str) -> bool:
    """Return whether a requirement admits a version. No requirement admits every version."""
    if requirement is None:
        return True
    if is_exact(requirement):
        return version == requirement
    lowest, end = _bounds(requirement)
    return lowest <= version_parts(version) < end


def highest(requirement: str | None, versions: Iterable[str]) -> str | None:
    """Return the highest version that a requirement admits, None if it admits none of them."""
    return max((version for version in versions if admits(requirement, version)), key=version_parts, default=None)


def _bounds(requirement: str) -> tuple[_Parts, _Parts]:
    """Return the lowest version of a range, and the first one above it."""
    given = [int(number) for number in _NUMBER.findall(requirement)]
    if requirement[0] == "~":
        fixed = min(len(given), 2)
    else:
        fixed = next((place for place, number in enumerate(given, start=1) if number), len(given))
    end = [*given[: fixed - 1], given[fixed - 1] + 1]
    return _padded(given), _padded(end)


def _padded(numbers: list[int]) -> _Parts:
    return (*numbers, *([0] * (3 - len(numbers))))
