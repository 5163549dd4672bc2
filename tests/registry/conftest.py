"""A SQLite database beside the one that is either."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.database.sqlite import SqliteDatabase


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "data" / "skill-registry.db")
    yield opened
    opened.close()
