"""A registry on each database, created once. Every test damages its own copy."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kept_registry import KeptRegistry, fill
from support.postgres_server import PostgresServer


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> KeptRegistry:
    postgres = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    return fill(tmp_path_factory.mktemp("filled"), postgres.new_database() if postgres else None)


@pytest.fixture
def kept(filled: KeptRegistry, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[KeptRegistry]:
    postgres: PostgresServer | None = request.getfixturevalue("postgres") if filled.url else None
    copy = filled.copy(tmp_path / "registry", postgres)
    yield copy
    copy.close()
