"""A bucket that lies: nothing is published that cannot be read back, and nothing is lost once it is honest again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.lying_bucket import LIES, Lie, LyingBucket
from support.publishing import Registry, skill_package
from support.s3 import KEYS, SeaweedFS


@pytest.fixture
def lying(bucket: SeaweedFS) -> Iterator[LyingBucket]:
    with LyingBucket(bucket) as opened:
        yield opened


@pytest.mark.parametrize("lie", LIES)
def test_a_publication_waits_for_an_honest_bucket(lying: LyingBucket, tmp_path: Path, lie: Lie) -> None:
    name = f"told-{LIES.index(lie)}"
    package = skill_package(name)
    with Registry(tmp_path, *lying.flags(), env=KEYS) as registry:
        lying.lie = lie
        answer = registry.publish(package)
        registry.wait_for(lambda: lying.told > 0)
        if lie in {"nothing", "half", "other bytes"}:
            registry.wait_for(lambda: "the store has" in registry.log.read_text())
            assert registry.get(f"/api/v1/skills/acme/{name}").status_code == 404
            assert registry.job(answer.json()["data"]["job_id"])["status"] in {"pending", "validating"}
        lying.lie = None
        job = registry.finished(answer)
        assert job["status"] == "accepted", job
        assert registry.get(job["download_url"]).content == package
