"""Fixtures every part of the suite uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.catalogs import SkillCatalog


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SkillCatalog]:
    made = SkillCatalog(tmp_path / "data")
    yield made
    made.close()
