"""Replicas under a mixed load, while they and their database are killed: nothing that was acknowledged is lost."""

from pathlib import Path

import pytest

from support.endurance import times
from support.mixed_load import MixedLoad
from support.postgres_server import PostgresServer
from support.registry_stores import RegistryStores
from support.s3 import SeaweedFS


@pytest.mark.endurance
def test_no_acknowledged_write_is_lost_and_every_replica_finds_it_at_once(tmp_path: Path, bucket: SeaweedFS) -> None:
    with PostgresServer() as postgres, RegistryStores(tmp_path, postgres, bucket) as stores:
        load = MixedLoad(stores, 2, writers=2, publishers=1, readers=1)
        kills = load.run(postgres, seconds=times(5), every=1.5)
        compared, ends = load.check()
        assert (kills > 0, compared > 0, set(ends) <= {"accepted"}) == (True, True, True)
        assert set(load.callers.searches) == {1}
