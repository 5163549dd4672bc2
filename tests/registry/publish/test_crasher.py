"""Faults of every kind under a load lose nothing that was acknowledged, and sign nothing twice."""

from pathlib import Path

import pytest

from support.crasher import Crasher, small_disk
from support.endurance import times
from support.registry_stores import RegistryStores

FAULTS = times(20)

pytestmark = pytest.mark.endurance


@pytest.mark.parametrize("database", [None, "postgres"], ids=["sqlite", "postgresql"])
def test_faults_of_the_machine_lose_and_duplicate_nothing(
    tmp_path: Path, request: pytest.FixtureRequest, database: str | None
) -> None:
    postgres = request.getfixturevalue(database) if database else None
    with small_disk(tmp_path / "server-0") as disk, RegistryStores(tmp_path, postgres) as stores:
        crasher = Crasher(stores, 7, postgres, disk)
        crasher.run(FAULTS)
        compared, ends = crasher.check()
        assert (crasher.seen.total(), compared > 0, ends["accepted"] > 0) == (FAULTS, True, True)
