"""How long the tests marked `endurance` run: as often as written, or ENDURANCE times as often."""

import os

_FACTOR = int(os.environ.get("ENDURANCE", "1"))


def times(count: int) -> int:
    """Return how many kills, requests or seconds a test is to take."""
    return count * _FACTOR
