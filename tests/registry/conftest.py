"""The catalog's tests run on both databases: what one keeps, so does the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.database import open_url
from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from registry.setting_types import DatabaseUrl


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> DatabaseUrl:
    if request.param == "sqlite":
        return DatabaseUrl(f"sqlite:///{tmp_path}/data/skill-registry.db")
    return DatabaseUrl(request.getfixturevalue("postgres").new_database())


@pytest.fixture
def database(database_url: DatabaseUrl) -> Iterator[Database]:
    opened = open_url(database_url)
    yield opened
    opened.close()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "data" / "skill-registry.db")
    yield opened
    opened.close()
