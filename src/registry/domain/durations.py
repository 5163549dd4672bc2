"""Durations as people write them: a number and a unit, such as `90s`, `15m`, `12h` and `3d`."""

import re
from datetime import timedelta

_DURATION = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

DURATION_RULE = "must be a number and a unit: s, m, h or d, such as 12h or 3d"


def parse_duration(text: str) -> timedelta:
    """Return the duration that a text names. Raises ValueError with the rule."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(DURATION_RULE)
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
