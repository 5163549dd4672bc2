"""`skill-registry admin jobs`: list, retry and discard publish jobs during each of which the process died twice."""

from collections.abc import Iterator
from typing import Any

import click

from registry.cli import console
from registry.cli.admin.accounts import audited_database, local_database, local_options
from registry.cli.command import private_scope_option
from registry.db import Database
from registry.domain.models import now
from registry.packages.refusal import structure_error
from registry.publish.jobs import Job, JobFinding, Jobs
from registry.publish.spool import package_spool

_DISCARDED = "the process died twice during this job; an administrator has discarded its package"
_FIELDS = ("id", "skill_id", "version", "uploaded_by", "uploaded_at", "completed_at")


@click.group()
def jobs() -> None:
    """List, retry and discard publish jobs that are set aside."""


@jobs.command("list")
@private_scope_option
@local_options
def list_jobs(as_json: bool, **flags: Any) -> None:
    """List the publish jobs that are set aside."""
    with local_database(flags) as (_, database):
        set_aside = _jobs(database).set_aside_jobs()
    console.show({"jobs": [_fields(job) for job in set_aside]}, _table, as_json=as_json)


@jobs.command("retry")
@click.argument("job_id")
@private_scope_option
@local_options
def retry_job(job_id: str, as_json: bool, **flags: Any) -> None:
    """Let the service retry the job JOB_ID, which is set aside."""
    with audited_database(flags, job_id) as (_, database):
        job = _jobs(database).retry(job_id)
    console.show({**_fields(job), "state": job.state}, console.facts_table, as_json=as_json)


@jobs.command("discard")
@click.argument("job_id")
@private_scope_option
@local_options
def discard_job(job_id: str, as_json: bool, **flags: Any) -> None:
    """Give up the job JOB_ID, which is set aside, and delete its package."""
    with audited_database(flags, job_id) as (settings, database):
        job = _jobs(database).discard(job_id, JobFinding.of(structure_error("discarded", _DISCARDED)))
        package_spool(settings, database).remove(job_id)
    console.show({**_fields(job), "state": job.state}, console.facts_table, as_json=as_json)


def _jobs(database: Database) -> Jobs:
    return Jobs(database, now, lambda _transaction, _checked: None)


def _fields(job: Job) -> console.Data:
    return {field: getattr(job, field) for field in _FIELDS}


def _table(answer: console.Data) -> Iterator[console.Part]:
    if not answer["jobs"]:
        yield "No publish jobs are set aside."
        return
    columns = ("Id", "Skill", "Version", "Uploaded by", "Uploaded", "Set aside")
    yield console.table(columns, ([job[field] for field in _FIELDS] for job in answer["jobs"]))
