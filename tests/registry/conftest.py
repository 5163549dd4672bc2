"""A SQLite database beside the one that is either, and a git server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.database.sqlite import SqliteDatabase
from support.git_server import GitServer


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "data" / "skill-registry.db")
    yield opened
    opened.close()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path / "hub") as server:
        yield server
