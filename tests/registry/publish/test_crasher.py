"""Faults of every kind under a load lose nothing that was acknowledged, and sign nothing twice."""

import contextlib
from pathlib import Path

import pytest

from support.crasher import Crasher, small_disk
from support.endurance import times
from support.lying_bucket import LyingBucket
from support.registry_stores import RegistryStores

FAULTS = times(20)

pytestmark = pytest.mark.endurance


@pytest.mark.parametrize("with_bucket", [False, True], ids=["folder", "bucket"])
@pytest.mark.parametrize("database", [None, "postgres"], ids=["sqlite", "postgresql"])
def test_faults_of_the_machine_lose_and_duplicate_nothing(
    tmp_path: Path, request: pytest.FixtureRequest, database: str | None, *, with_bucket: bool
) -> None:
    postgres = request.getfixturevalue(database) if database else None
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(small_disk(tmp_path / "server-0"))
        lying = stack.enter_context(LyingBucket(request.getfixturevalue("bucket"))) if with_bucket else None
        stores = stack.enter_context(RegistryStores(tmp_path, postgres, lying))
        crasher = Crasher(stores, 7, postgres, disk, lying)
        crasher.run(FAULTS)
        compared, ends = crasher.check()
        assert (crasher.seen.total(), compared > 0, ends["accepted"] > 0) == (FAULTS, True, True)
