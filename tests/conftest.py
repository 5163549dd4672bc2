"""Fixtures every part of the suite uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.catalogs import SkillCatalog
from support.s3 import SeaweedFS


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SkillCatalog]:
    made = SkillCatalog(tmp_path / "data")
    yield made
    made.close()


@pytest.fixture(scope="session")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    """A bucket of a real S3 service; every test uses keys of its own."""
    with SeaweedFS(tmp_path_factory.mktemp("s3")) as running:
        yield running
