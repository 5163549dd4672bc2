"""A bucket that lies: nothing is published that cannot be read back, and nothing is lost once it is honest again."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.killing import kill_all
from support.lying_bucket import LIES, Lie, LyingBucket
from support.publishing import Registry, skill_package
from support.s3 import BUCKET, KEYS, SeaweedFS


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


def test_a_process_that_dies_before_it_removes_changed_bytes_blocks_nothing(lying: LyingBucket, tmp_path: Path) -> None:
    package = skill_package("cut-short")
    with Registry(tmp_path, *lying.flags(), env=KEYS) as registry:
        lying.lie, lying.then = "half", lambda: kill_all(registry.process.pid)
        answer = registry.publish(package)
        registry.process.wait()
        assert "skills/acme/cut-short-1.0.0.zip" in lying.stored()
        lying.lie, lying.then = None, lambda: None
        registry.http.close()
        registry.start()
        job = registry.finished(answer)
        assert job["status"] == "accepted", job
        assert registry.get(job["download_url"]).content == package


def test_what_was_stored_before_a_version_was_uploaded_is_never_replaced(lying: LyingBucket, tmp_path: Path) -> None:
    key = "skills/acme/known-1.0.0.zip"
    lying.client.put_object(Bucket=BUCKET, Key=key, Body=b"of a database that was lost")
    time.sleep(1.1)  # S3 tells times to the second
    with Registry(tmp_path, *lying.flags(), env=KEYS) as registry:
        job = registry.finished(registry.publish(skill_package("known")))
        assert job["status"] == "rejected"
        assert "publish another version" in job["errors"][0]["message"]
        assert lying.client.get_object(Bucket=BUCKET, Key=key)["Body"].read() == b"of a database that was lost"
