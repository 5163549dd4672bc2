"""Packages of uploads that no job needs, and uploads that nobody has continued for a day, are listed and removed."""

import os
import time
from pathlib import Path

from support.kept_registry import KeptRegistry

DAY = 24 * 60 * 60
ADD = (
    "insert into publish_jobs (id, state, skill_id, version, checksum, size, uploaded_at, uploaded_by, tries, next_try,"
    " errors, warnings, begun, set_aside) values ('{}', '{}', 'acme/pdf', '{}', '', 1, '', 'acme/ann', 0, 0, '[]',"
    " '[]', 0, {})"
)
# One that is set aside although its version is published can never be retried.
JOBS = {
    "live": ("pending", "2.0.0", 0),
    "aside": ("rejected", "3.0.0", 1),
    "ended": ("rejected", "4.0.0", 0),
    "late": ("rejected", "1.9.0", 1),
}


def spool(kept: KeptRegistry, job: str) -> None:
    """Leave a package where the service keeps those of its jobs."""
    if kept.url is None:
        (kept.data_dir / "publish" / f"{job}.zip").write_bytes(b"PK")
    else:
        kept.run(f"insert into spooled_packages (job_id, part, data) values ('{job}', 0, 'PK')")


def spooled(kept: KeptRegistry) -> set[str]:
    if kept.url is None:
        return {path.stem for path in (kept.data_dir / "publish").glob("*.zip")}
    return {row[0] for row in kept.database.read("select job_id from spooled_packages")}


def test_packages_that_no_job_needs_are_named_and_removed(kept: KeptRegistry) -> None:
    for job, (state, version, is_aside) in JOBS.items():
        kept.run(ADD.format(job, state, version, is_aside))
        spool(kept, job)
    spool(kept, "unknown")
    orphans = {"ended", "late", "unknown"}
    report = kept.inspect()
    found = {drift.thing for drift in report.drift if drift.thing.startswith("upload ")}
    assert found == {f"upload {job}" for job in orphans}
    assert {drift.thing for drift in kept.inspect(alone=False).drift if drift.thing.startswith("upload ")} == found
    assert spooled(kept) == orphans | {"live", "aside"}
    kept.inspect(repair=True)
    assert spooled(kept) == {"live", "aside"}


def left(kept: KeptRegistry, name: str, age: float) -> Path:
    path = kept.data_dir / "publish" / name
    path.write_bytes(b"PK")
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_an_unfinished_upload_is_named_and_removed_after_a_day(kept: KeptRegistry) -> None:
    old, young = left(kept, ".skill-registry-upload-1", DAY + 60), left(kept, ".skill-registry-upload-2", DAY - 60)
    (drift,) = kept.inspect().drift
    assert (drift.thing, drift.repairable) == ("publish/.skill-registry-upload-1", True)
    assert old.exists()
    assert kept.inspect(repair=True).drift == []
    assert (old.exists(), young.exists()) == (False, True)
