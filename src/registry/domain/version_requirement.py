"""Requirements on the version of a skill: a version such as `1.4.0`, or a range. Every range is of this grammar.

| range | admits |
|---|---|
| `^1.2` | what keeps the leftmost number that is not zero: 1.2.0 and above, below 2.0.0 |
| `~1.4.1` | what keeps MAJOR.MINOR (MAJOR if only that is given): 1.4.1 and above, below 1.5.0 |
| `>=1.2,<2` | what all comparisons admit that commas join; `>1.2` is above every 1.2.x, `<=1.2` admits them |
| `1.x`, `1.2.x`, `1.*` | every 1.y.z, or 1.2.z |
| `^1.2 || ^3` | what one of the alternatives admits |
| `*`, `latest` | every version |

As in Cargo and npm, a range means the highest version that it admits.
"""

import functools
import re
from collections.abc import Iterable
from typing import Annotated, NamedTuple

from msgspec import Meta

from registry.domain.models import version_parts
from registry.domain.version_text import EXACT_PATTERN, REQUIREMENT_PATTERN

VersionRequirement = Annotated[
    str,
    Meta(
        max_length=200,
        pattern=REQUIREMENT_PATTERN,
        extra={
            "rule": "must be a version such as 1.4.0, or a range: ^1.2, ~1.4.1, 1.x, >=1.2,<2, ^1 || ^3, * or latest"
        },
    ),
]

_EXACT = re.compile(EXACT_PATTERN)
_NUMBER = re.compile(r"[0-9]+")

_Parts = tuple[int, ...]

_LOWEST: _Parts = (0, 0, 0)
_END: _Parts = (10**10,)
"""Above every version: each of its numbers has at most nine digits."""


class _Interval(NamedTuple):
    """The versions from `lowest` on and below `end`."""

    lowest: _Parts
    end: _Parts


def is_exact(requirement: str) -> bool:
    """Return whether a requirement names a single version."""
    return _EXACT.fullmatch(requirement) is not None


@functools.lru_cache(maxsize=1 << 14)
def admits(requirement: str | None, version: str) -> bool:
    """Return whether a requirement admits a version. No requirement admits every version."""
    if requirement is None:
        return True
    parts = version_parts(version)
    return any(interval.lowest <= parts < interval.end for interval in _intervals(requirement))


def highest(requirement: str | None, versions: Iterable[str]) -> str | None:
    """Return the highest version that a requirement admits, None if it admits none of them."""
    return max((version for version in versions if admits(requirement, version)), key=version_parts, default=None)


@functools.lru_cache(maxsize=4096)
def _intervals(requirement: str) -> tuple[_Interval, ...]:
    """Return the intervals of a requirement, one for each of its alternatives."""
    if requirement == "latest":
        return (_Interval(_LOWEST, _END),)
    alternatives = (text.split(",") for text in requirement.split("||"))
    return tuple(_intersection([_compared(text.strip()) for text in texts]) for texts in alternatives)


def _intersection(intervals: list[_Interval]) -> _Interval:
    return _Interval(max(interval.lowest for interval in intervals), min(interval.end for interval in intervals))


def _compared(text: str) -> _Interval:
    """Return the interval of one comparison."""
    numbers = [int(number) for number in _NUMBER.findall(text)]
    first, following = _padded(numbers), _after(numbers, len(numbers)) if numbers else _END
    match text.rstrip("0123456789. "):
        case "^":
            fixed = next((place for place, number in enumerate(numbers, start=1) if number), len(numbers))
            interval = _Interval(first, _after(numbers, fixed))
        case "~":
            interval = _Interval(first, _after(numbers, min(len(numbers), 2)))
        case ">=":
            interval = _Interval(first, _END)
        case ">":
            interval = _Interval(following, _END)
        case "<":
            interval = _Interval(_LOWEST, first)
        case "<=":
            interval = _Interval(_LOWEST, following)
        case _:  # 1.4.0, 1.x and *
            interval = _Interval(first, following)
    return interval


def _after(numbers: list[int], fixed: int) -> _Parts:
    """Return the first version that differs from the given one in its first `fixed` numbers and is above it."""
    return _padded([*numbers[: fixed - 1], numbers[fixed - 1] + 1])


def _padded(numbers: list[int]) -> _Parts:
    return (*numbers, *([0] * (3 - len(numbers))))
