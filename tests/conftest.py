"""Fixtures every part of the suite uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.database.sqlite import SqliteDatabase
from support.catalogs import SkillCatalog
from support.postgres_server import PostgresServer
from support.s3 import SeaweedFS


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "data" / "skill-registry.db")
    yield opened
    opened.close()


@pytest.fixture
def catalog(database: SqliteDatabase) -> SkillCatalog:
    return SkillCatalog(database)


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    """A bucket of a real S3 service; every test uses keys of its own."""
    with SeaweedFS(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all; every test has a database of its own."""
    with PostgresServer() as running:
        yield running
