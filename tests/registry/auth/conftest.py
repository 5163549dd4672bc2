"""A clock that goes only when told to."""

import pytest

from support.clock import WallClock


@pytest.fixture
def clock() -> WallClock:
    return WallClock()
