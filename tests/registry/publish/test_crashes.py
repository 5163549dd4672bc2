"""Publishing through crashes: killed again and again, each accepted version is there once, everywhere."""

from pathlib import Path

import pytest

from support.endurance import times
from support.postgres_server import PostgresServer
from support.publish_kills import PublishKills, share
from support.registry_stores import RegistryStores
from support.s3 import SeaweedFS

KILLS = times(4)
JOBS = times(20)

pytestmark = pytest.mark.endurance


@pytest.mark.parametrize(("database", "packages"), [(None, None), ("postgres", "bucket")])
def test_killed_at_any_step_of_a_publish_nothing_is_lost_or_there_twice(
    tmp_path: Path, request: pytest.FixtureRequest, database: str | None, packages: str | None
) -> None:
    shared = [request.getfixturevalue(name) if name else None for name in (database, packages)]
    with RegistryStores(tmp_path, *shared) as stores:
        killing = PublishKills(stores)
        steps = [1 + number * killing.steps // KILLS for number in range(KILLS)]
        assert sum(killing.kill(step) is not None for step in steps) >= KILLS // 2
        killing.settle()
        assert sum(stores.check(killing.jobs).values()) >= KILLS


def test_two_servers_share_the_jobs_while_one_of_them_is_killed(
    tmp_path: Path, postgres: PostgresServer, bucket: SeaweedFS
) -> None:
    with RegistryStores(tmp_path, postgres, bucket) as stores:
        jobs, kills = share(stores, JOBS, seconds=1)
        assert (len(jobs), kills > 0) == (JOBS, True)
        assert stores.check(jobs) == {"accepted": JOBS * 4 // 5, "rejected": JOBS // 5}
