"""A real database, and a clock that goes only when told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from support.clock import WallClock


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = SqliteDatabase(tmp_path / "data" / "skill-registry.db")
    yield opened
    opened.close()
