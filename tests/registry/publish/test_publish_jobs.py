"""Publish jobs in the catalog: each ends exactly once."""

import pytest

from registry.db import Database
from registry.domain.models import now
from registry.errors import RegistryError
from registry.events.webhooks import Checked
from registry.publish.jobs import Job, JobFinding, Jobs, needed_packages


def stored(jobs: Jobs) -> Job:
    job = jobs.get("1")
    assert job is not None
    return job


def test_a_job_that_was_accepted_is_not_rejected_afterwards(database: Database) -> None:
    told: list[Checked] = []
    jobs = Jobs(database, now, lambda transaction, checked: told.append(checked))
    job = Job(id="1", skill_id="a/b", version="1.0.0", checksum="sha256:", size=1, uploaded_at="", uploaded_by="a")
    with database.write() as transaction:
        jobs.add(transaction, job, None)
        jobs.accept(transaction, job, [], 1)
    jobs.reject(job, [])
    assert stored(jobs).state == "accepted"
    assert [one.accepted for one in told] == [True]


def added(jobs: Jobs, job_id: str = "1") -> Job:
    job = Job(id=job_id, skill_id="a/b", version="1.0.0", checksum="sha256:", size=1, uploaded_at="", uploaded_by="a")
    with jobs.database.write() as transaction:
        jobs.add(transaction, job, None)
    return job


def test_only_an_attempt_without_an_end_counts_as_begun(database: Database) -> None:
    jobs = Jobs(database, now, lambda transaction, checked: None)
    job = added(jobs)
    jobs.begin(job)
    assert (stored(jobs).begun, stored(jobs).state) == (1, "validating")
    jobs.postpone(job, 0)
    jobs.begin(job)
    jobs.leave("1")
    jobs.leave("1")
    assert (stored(jobs).begun, stored(jobs).tries) == (0, 1)


def test_a_job_that_is_set_aside_keeps_its_package_and_is_retried_once(database: Database) -> None:
    told: list[Checked] = []
    jobs = Jobs(database, now, lambda transaction, checked: told.append(checked))
    job = added(jobs)
    jobs.begin(job)
    jobs.set_aside(job, JobFinding(kind="structure_error", severity="medium", field=None, message="it died"))
    assert (stored(jobs).state, [one.accepted for one in told]) == ("rejected", [False])
    assert [one.id for one in jobs.set_aside_jobs()] == ["1"]
    with database.write() as transaction:
        assert (jobs.due_ids(transaction), needed_packages(transaction)) == (set(), {"1"})
    again = jobs.retry("1")
    assert (again.state, again.begun, again.errors, again.completed_at) == ("pending", 0, [], None)
    assert jobs.set_aside_jobs() == []
    with pytest.raises(RegistryError, match="not found"):
        jobs.retry("1")


def test_a_job_that_is_set_aside_is_discarded_for_good(database: Database) -> None:
    jobs = Jobs(database, now, lambda transaction, checked: None)
    jobs.set_aside(added(jobs), JobFinding(kind="structure_error", severity="medium", field=None, message="it died"))
    given_up = JobFinding(kind="structure_error", severity="medium", field=None, message="given up")
    job = jobs.discard("1", given_up)
    assert (job.state, job.errors) == ("rejected", [given_up])
    assert jobs.set_aside_jobs() == []
    with database.write() as transaction:
        assert needed_packages(transaction) == set()
    for act in (jobs.retry, lambda job_id: jobs.discard(job_id, given_up)):
        with pytest.raises(RegistryError, match="not found"):
            act("1")


def test_a_job_is_not_retried_beside_another_for_its_version(database: Database) -> None:
    jobs = Jobs(database, now, lambda transaction, checked: None)
    first = added(jobs)
    jobs.set_aside(first, JobFinding(kind="structure_error", severity="medium", field=None, message="it died"))
    added(jobs, "2")
    with pytest.raises(RegistryError, match="meanwhile"):
        jobs.retry("1")
