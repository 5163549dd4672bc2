"""A clock that only the test moves."""

import pytest

from support.clock import WallClock


@pytest.fixture
def clock() -> WallClock:
    return WallClock()
