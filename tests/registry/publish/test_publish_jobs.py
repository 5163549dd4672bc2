"""Publish jobs in the catalog: each has one end, whoever writes it twice."""

from registry.db import Database
from registry.domain.models import now
from registry.events.webhooks import Checked
from registry.publish.jobs import Job, Jobs


def test_a_job_that_was_accepted_is_not_rejected_afterwards(database: Database) -> None:
    told: list[Checked] = []
    jobs = Jobs(database, now, lambda transaction, checked: told.append(checked))
    job = Job(id="1", skill_id="a/b", version="1.0.0", checksum="sha256:", size=1, uploaded_at="", uploaded_by="a")
    with database.write() as transaction:
        jobs.add(transaction, job, None)
        jobs.accept(transaction, job, [], 1)
    jobs.reject(job, [])
    assert jobs.get("1").state == "accepted"
    assert [one.accepted for one in told] == [True]
