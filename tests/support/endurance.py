"""How long the tests marked `endurance` run: as often as written, or ENDURANCE times as often."""

import os

import pytest

_FACTOR = int(os.environ.get("ENDURANCE", "1"))


def times(count: int) -> int:
    """Return how many kills, requests or seconds a test is to take."""
    return count * _FACTOR


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests the time they need."""
    for item in items:
        if item.get_closest_marker("endurance"):
            item.add_marker(pytest.mark.timeout(times(1800)))
