"""Fixtures every part of the suite uses. What keeps or reads the truth is tested on both databases."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from embeddings import telemetry
from registry.config.types import DatabaseUrl
from registry.database import open_url
from registry.db import Database
from registry.runtime.event_loop import refuse_waiting
from support.catalogs import SkillCatalog

if TYPE_CHECKING:
    from support.milvus_server import MilvusServer
    from support.postgres_server import PostgresServer
    from support.s3 import SeaweedFS

telemetry.switch_off()  # some tests import onnxruntime themselves

os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"  # not that of the user who runs the tests

collect_ignore = ["clients"]
"""The tests with the clients of other people install these first: `make test-clients`."""

pytest_plugins = ["support.endurance", "support.longest_first", "support.fast_set"]

refuse_waiting()

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.outside))


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> DatabaseUrl:
    if request.param == "sqlite":
        return DatabaseUrl(f"sqlite:///{tmp_path}/data/skill-registry.db")
    return DatabaseUrl(request.getfixturevalue("postgres").new_database())


@pytest.fixture
def database(database_url: DatabaseUrl) -> Iterator[Database]:
    opened = open_url(database_url)
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=DATABASES)
def database_setting(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """What the environment of a server says of its database: nothing where it is the file in its data directory."""
    if request.param == "sqlite":
        return {}
    return {"SKILL_REGISTRY_DATABASE_URL": request.getfixturevalue("postgres").new_database()}


@pytest.fixture
def catalog(database: Database) -> SkillCatalog:
    return SkillCatalog(database)


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SeaweedFS]":
    """A bucket of a real S3 service; every test uses keys of its own."""
    from support.s3 import SeaweedFS

    with SeaweedFS(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[MilvusServer]":
    """A Milvus that is nobody's alone: each test uses a catalog of its own."""
    from support.milvus_server import MilvusServer

    with MilvusServer(tmp_path_factory.mktemp("milvus")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> "Iterator[PostgresServer]":
    """One server for all; every test has a database of its own."""
    from support.postgres_server import PostgresServer

    with PostgresServer() as running:
        yield running
