"""What dead processes have left of uploads is removed, at the start and later, and nothing that a job needs."""

import os
import time
from pathlib import Path

import pytest

from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from registry.domain.models import now
from registry.publish.jobs import Job, JobFinding, Jobs, needed_packages
from registry.publish.leftovers import ABANDONED_SECONDS, EVERY_SECONDS, Leftovers
from registry.publish.spool import DatabaseSpool, FolderSpool, Spool

DIED = JobFinding(kind="structure_error", severity="medium", field=None, message="it died")
PUBLISHED = (
    "insert into published (skill_id, skeleton, version, major, minor, patch, state, checksum, size, published_at,"
    " record, skill_file) values ('a/b', 'a/b', ?, 1, 0, 0, 'active', '', 1, '', '{}', '')"
)


@pytest.fixture
def spool(database: Database, tmp_path: Path) -> Spool:
    """The spool that a service has with this database."""
    folder = tmp_path / "publish"
    folder.mkdir()
    return FolderSpool(folder) if isinstance(database, SqliteDatabase) else DatabaseSpool(database, folder)


@pytest.fixture
def jobs(database: Database) -> Jobs:
    return Jobs(database, now, lambda _transaction, _checked: None)


def add(jobs: Jobs, spool: Spool, version: str) -> Job:
    job = Job(
        id=f"job-{version}",
        skill_id="a/b",
        version=version,
        checksum="sha256:",
        size=1,
        uploaded_at="",
        uploaded_by="a",
    )
    upload = spool.folder / "upload"
    upload.write_bytes(b"PK")
    with jobs.database.write() as transaction:
        spool.keep(transaction, job.id, upload)
        jobs.add(transaction, job, None)
    upload.unlink(missing_ok=True)
    return job


def spooled(spool: Spool, database: Database) -> list[str]:
    return spool.orphans(database, ())


def test_a_package_left_by_another_process_is_removed_without_a_restart(jobs: Jobs, spool: Spool) -> None:
    seconds = [0.0]
    leftovers = Leftovers(jobs.database, spool, lambda: seconds[0])
    leftovers.remove_due()
    add(jobs, spool, "1.0.0")
    aside = add(jobs, spool, "2.0.0")
    jobs.set_aside(aside, DIED)
    ended = add(jobs, spool, "3.0.0")
    jobs.reject(ended, [])  # and then the process dies, before it removes the package
    seconds[0] = EVERY_SECONDS - 1
    leftovers.remove_due()
    assert spooled(spool, jobs.database) == ["job-1.0.0", "job-2.0.0", "job-3.0.0"]
    seconds[0] = EVERY_SECONDS
    leftovers.remove_due()
    assert spooled(spool, jobs.database) == ["job-1.0.0", "job-2.0.0"]


def test_a_failure_has_leftovers_removed_at_once(jobs: Jobs, spool: Spool) -> None:
    leftovers = Leftovers(jobs.database, spool, lambda: 0.0)
    leftovers.remove_due()
    jobs.reject(add(jobs, spool, "1.0.0"), [])
    leftovers.expect()
    leftovers.remove_due()
    assert spooled(spool, jobs.database) == []


def test_a_job_set_aside_needs_its_package_until_its_version_is_published(jobs: Jobs, spool: Spool) -> None:
    jobs.set_aside(add(jobs, spool, "1.0.0"), DIED)
    assert needed_packages(jobs.database) == {"job-1.0.0"}
    with jobs.database.write() as transaction:
        transaction.execute(PUBLISHED, ("1.0.1",))
    assert needed_packages(jobs.database) == {"job-1.0.0"}
    with jobs.database.write() as transaction:
        transaction.execute(PUBLISHED, ("1.0.0",))
    assert jobs.set_aside_jobs() == []  # nobody can retry it
    Leftovers(jobs.database, spool).remove_due()
    assert spooled(spool, jobs.database) == []


def test_uploads_that_nobody_continues_are_removed_after_a_day(jobs: Jobs, spool: Spool) -> None:
    for age in (ABANDONED_SECONDS - 60, ABANDONED_SECONDS + 60):
        upload, unpacked = spool.folder / f".skill-registry-upload-{age}", spool.folder / f"unpacked-{age}"
        upload.touch()
        (unpacked / "package").mkdir(parents=True)
        for path in (upload, unpacked):
            os.utime(path, (time.time() - age, time.time() - age))
    Leftovers(jobs.database, spool).remove_due()
    young = ABANDONED_SECONDS - 60
    assert {path.name for path in spool.folder.iterdir()} == {f".skill-registry-upload-{young}", f"unpacked-{young}"}
