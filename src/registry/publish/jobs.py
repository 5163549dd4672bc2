"""Publish jobs in the catalog: one row per upload (contract, section 6, *Job*)."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from registry.catalog.store import Clock
from registry.db import Database, Reader, Transaction
from registry.domain.findings import Finding
from registry.domain.models import timestamp
from registry.domain.release_proofs import PublisherRun
from registry.domain.roles import Principal, includes
from registry.errors import conflict, not_found
from registry.events.webhooks import Checked
from registry.publish.held import HeldPackage, ReviewDecision

JobState = Literal["pending", "validating", "held", "accepted", "rejected"]

_LIVE = "state in ('pending', 'validating', 'held')"
# A held job has work to do once it is approved; a rejection ends it at once.
_DUE = f"{_LIVE} and (state <> 'held' or decision is not null)"
# A version is published once and for ever. After that, a job for it cannot be retried.
_SET_ASIDE = (
    "(set_aside = 1 and not exists (select 1 from published p"
    " where p.skill_id = publish_jobs.skill_id and p.version = publish_jobs.version))"
)
_STORED = (
    "id, state, skill_id, version, checksum, size, uploaded_at, uploaded_by, completed_at, tries, begun, errors,"
    " warnings, index_number, publisher, held_at, decision, run"
)
_COLUMNS = f"{_STORED}, {_SET_ASIDE}"
_FIELDS = (*_STORED.replace(" ", "").split(","), "is_set_aside")


class JobFinding(msgspec.Struct, kw_only=True, frozen=True):
    """An error or a warning about a package. `field` is the affected file, null for the whole package."""

    kind: Literal["structure_error", "security_issue", "quality_warning"]
    severity: Literal["none", "low", "medium", "high"]
    field: str | None
    message: str

    @classmethod
    def of(cls, finding: Finding) -> "JobFinding":
        """Return the finding in the form that jobs have."""
        return cls(kind=finding.kind, severity=finding.severity, field=finding.file, message=finding.message)


class Job(msgspec.Struct, kw_only=True):
    """One upload. `checksum` is `sha256:` and the digest of the zip; `size` is in bytes.

    `tries` counts temporary failures. `begun` counts the attempts without a recorded end: those whose process died, and
    the one in progress. `index_number` is the revision of the index file that lists the version, None until the job is
    accepted. `is_set_aside` is whether the process died too often during the job, which may be retried. `publisher` is
    the account of who uploaded the package. `held_at` is when it began to wait for a review, None if it did not.
    `run` is that of the workflow that has uploaded it, if a trusted publisher did.
    """

    id: str
    state: JobState = "pending"
    skill_id: str
    version: str
    checksum: str
    size: int
    uploaded_at: str
    uploaded_by: str
    completed_at: str | None = None
    tries: int = 0
    begun: int = 0
    errors: list[JobFinding] = msgspec.field(default_factory=list)
    warnings: list[JobFinding] = msgspec.field(default_factory=list)
    index_number: int | None = None
    publisher: str = ""
    held_at: str | None = None
    decision: ReviewDecision | None = None
    run: PublisherRun | None = None
    is_set_aside: bool = False

    @property
    def is_live(self) -> bool:
        """Whether the job has not ended."""
        return self.state in ("pending", "validating", "held")

    @property
    def has_work(self) -> bool:
        """Whether a worker has something to do: the job has not ended and does not wait for a review."""
        return self.is_live and not (self.state == "held" and self.decision is None)

    @property
    def scope(self) -> str:
        """The scope that the job publishes to."""
        return self.skill_id.partition("/")[0]


class Jobs:
    """Reads and writes jobs. `enqueue` adds the webhook notifications for a job in the transaction that ends it.

    Any process that has claimed a job may work on it. The first recorded end of a job is final.
    """

    def __init__(self, database: Database, clock: Clock, enqueue: Callable[[Transaction, Checked], None]) -> None:
        self.database = database
        self._clock = clock
        self._enqueue = enqueue

    def now(self) -> str:
        """Return the current time as a timestamp."""
        return timestamp(self._clock())

    def get(self, job_id: str) -> Job | None:
        """Return a job, None if it does not exist."""
        return self.read(self.database, job_id)

    def read(self, reader: Reader, job_id: str) -> Job | None:
        """Return a job as a reader sees it, None if it does not exist."""
        rows = reader.read(f"select {_COLUMNS} from publish_jobs where id = ?", (job_id,))
        return _job(rows[0]) if rows else None

    def visible(self, job_id: str, principal: Principal) -> Job:
        """Return a job to its uploader, its scope or an administrator. Raises NOT_FOUND otherwise."""
        job = self.get(job_id)
        if job is None or not (
            job.uploaded_by == principal.name or job.scope == principal.scope or includes(principal.role, "admin")
        ):
            raise not_found(f"Job '{job_id[:64]}'")
        return job

    def all_visible(self, principal: Principal, limit: int, offset: int) -> tuple[list[Job], int]:
        """Return the jobs that `visible` shows, newest first, at most `limit` after `offset`; and their number."""
        scope = f"{principal.scope}/" if principal.scope else ""
        mine = "(uploaded_by = ? or (? <> '' and substr(skill_id, 1, ?) = ?))"
        values: tuple[object, ...] = (principal.name, scope, len(scope), scope)
        where, parameters = ("1 = 1", ()) if includes(principal.role, "admin") else (mine, values)
        ((total,),) = self.database.read(f"select count(*) from publish_jobs where {where}", parameters)
        sql = f"select {_COLUMNS} from publish_jobs where {where} order by number desc limit ? offset ?"
        return [_job(row) for row in self.database.read(sql, (*parameters, limit, offset))], int(total)

    def same_request(self, transaction: Transaction, caller: str, key: str) -> Job | None:
        """Return the job that a caller created with this idempotency key, if any."""
        rows = transaction.read(
            f"select {_COLUMNS} from publish_jobs where uploaded_by = ? and idempotency_key = ?"
            " order by number limit 1",
            (caller, key),
        )
        return _job(rows[0]) if rows else None

    def live(self, reader: Reader, skill_id: str, version: str) -> Job | None:
        """Return the live job for this version, if any."""
        rows = reader.read(
            f"select {_COLUMNS} from publish_jobs where skill_id = ? and version = ? and {_LIVE}", (skill_id, version)
        )
        return _job(rows[0]) if rows else None

    def bytes_of(self, reader: Reader, scope: str) -> int:
        """Return the size of the packages of a scope: published ones, also withdrawn, and those of live jobs."""
        of_scope = "skill_id > ? and skill_id < ?"
        values = (f"{scope}/", f"{scope}0")  # '0' is the character after '/'
        live = f"select coalesce(sum(size), 0) from publish_jobs where {_LIVE} and {of_scope}"
        published = f"select coalesce(sum(size), 0) from published where {of_scope}"
        return sum(int(reader.read(sql, values)[0][0]) for sql in (live, published))

    def add(self, transaction: Transaction, job: Job, idempotency_key: str | None) -> None:
        """Insert a new job."""
        transaction.touched.append(f"{job.skill_id}@{job.version}")
        transaction.execute(
            f"insert into publish_jobs ({_STORED}, idempotency_key, next_try)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
            (
                job.id,
                job.state,
                job.skill_id,
                job.version,
                job.checksum,
                job.size,
                job.uploaded_at,
                job.uploaded_by,
                None,
                0,
                0,
                "[]",
                "[]",
                None,
                job.publisher,
                None,
                None,
                msgspec.json.encode(job.run).decode() if job.run else None,
                idempotency_key,
            ),
        )

    def due(self, now: float) -> list[str]:
        """Return the ids of jobs that are due, the oldest first. `now` is in seconds since 1970."""
        rows = self.database.read(f"select id from publish_jobs where {_DUE} and next_try <= ? order by number", (now,))
        return [row[0] for row in rows]

    def due_ids(self, transaction: Transaction) -> set[str]:
        """Return the ids of the jobs with something to do."""
        return {row[0] for row in transaction.read(f"select id from publish_jobs where {_DUE}")}

    def begin(self, job: Job) -> None:
        """Record the start of an attempt, so that it counts even if the process dies."""
        with self.database.write() as transaction:
            state = "case when state = 'held' then state else 'validating' end"
            sql = f"update publish_jobs set state = {state}, begun = begun + 1 where id = ? and {_DUE}"
            transaction.execute(sql, (job.id,))

    def hold(self, transaction: Transaction, job: Job, package: HeldPackage) -> None:
        """Let a job wait for a review, with what a reviewer sees of its package."""
        warnings = [JobFinding.of(finding) for finding in package.findings]
        transaction.execute(
            "update publish_jobs set state = 'held', begun = 0, tries = 0, warnings = ?, held_at = ?, held = ?"
            " where id = ?",
            (
                msgspec.json.encode(warnings).decode(),
                self.now(),
                msgspec.json.encode(package).decode(),
                job.id,
            ),
        )
        self._enqueue(transaction, msgspec.structs.replace(_checked(job, warnings, accepted=False), review="held"))

    def held(self, scope: str | None, limit: int, offset: int) -> tuple[list[Job], int]:
        """Return the jobs that wait for a review, of one scope or of all, the oldest first; and their number."""
        where, parameters = "state = 'held' and decision is null", (f"{scope}/", len(f"{scope}/"))
        if scope is not None:
            where = f"{where} and ? = substr(skill_id, 1, ?)"
        values = parameters if scope is not None else ()
        ((total,),) = self.database.read(f"select count(*) from publish_jobs where {where}", values)
        sql = f"select {_COLUMNS} from publish_jobs where {where} order by number limit ? offset ?"
        return [_job(row) for row in self.database.read(sql, (*values, limit, offset))], int(total)

    def held_package(self, job_id: str) -> HeldPackage | None:
        """Return what a reviewer sees of the package of a job, None if it was not held."""
        rows = self.database.read("select held from publish_jobs where id = ? and held is not null", (job_id,))
        return msgspec.json.decode(rows[0][0], type=HeldPackage) if rows else None

    def decide(self, transaction: Transaction, job: Job, decision: ReviewDecision) -> bool:
        """Record the decision on a held job. Return whether it waited for one."""
        sql = (
            "update publish_jobs set decision = ?, tries = 0, next_try = 0"
            " where id = ? and state = 'held' and decision is null"
        )
        if not transaction.execute(sql, (msgspec.json.encode(decision).decode(), job.id)):
            return False
        checked = _checked(job, job.warnings, accepted=False)
        told = msgspec.structs.replace(checked, review=decision.outcome, reason=decision.reason)
        self._enqueue(transaction, told)
        return True

    def leave(self, job_id: str) -> None:
        """Record the orderly end of an attempt that another process will repeat."""
        with self.database.write() as transaction:
            transaction.execute("update publish_jobs set begun = begun - 1 where id = ? and begun > 0", (job_id,))

    def postpone(self, job: Job, until: float) -> None:
        """Record a temporary failure, and when to try again in seconds since 1970."""
        with self.database.write() as transaction:
            sql = "update publish_jobs set tries = tries + 1, begun = begun - 1, next_try = ? where id = ?"
            transaction.execute(sql, (until, job.id))

    def set_aside(self, job: Job, error: JobFinding) -> None:
        """Reject a job and keep its package for a retry."""
        with self.database.write() as transaction:
            self.end_rejected(transaction, job, [error], "set_aside = 1, ")

    def set_aside_jobs(self) -> list[Job]:
        """Return the jobs that are set aside, the oldest first, without those whose version was published meanwhile."""
        rows = self.database.read(f"select {_COLUMNS} from publish_jobs where {_SET_ASIDE} order by number")
        return [_job(row) for row in rows]

    def discard(self, job_id: str, error: JobFinding) -> Job:
        """Give up a job that is set aside, and return it. Its package is no longer needed. Raises NOT_FOUND."""
        with self.database.write() as transaction:
            sql = "update publish_jobs set set_aside = 0, errors = ? where id = ? and set_aside = 1"
            errors = msgspec.json.encode([error]).decode()
            rows = transaction.read(f"{sql} returning {_COLUMNS}", (errors, job_id))
        if not rows:
            raise not_found(f"Job '{job_id[:64]}' that is set aside")
        return _job(rows[0])

    def retry(self, job_id: str) -> Job:
        """Make a job that is set aside pending again, and return it.

        Raises NOT_FOUND for any other job, CONFLICT if its version was published meanwhile or has a live job.
        """
        with self.database.write() as transaction:
            rows = transaction.read(f"select {_COLUMNS} from publish_jobs where id = ? and set_aside = 1", (job_id,))
            if not rows:
                raise not_found(f"Job '{job_id[:64]}' that is set aside")
            job = _job(rows[0])
            published = "select 1 from published where skill_id = ? and version = ?"
            version = (job.skill_id, job.version)
            if self.live(transaction, *version) or transaction.read(published, version):
                raise conflict(f"Version {job.version} of skill '{job.skill_id}' was uploaded again meanwhile")
            transaction.touched.append(f"{job.skill_id}@{job.version}")
            rows = transaction.read(
                "update publish_jobs set state = 'pending', set_aside = 0, begun = 0, tries = 0, next_try = 0,"
                f" errors = '[]', completed_at = null where id = ? returning {_COLUMNS}",
                (job_id,),
            )
            return _job(rows[0])

    def accept(self, transaction: Transaction, job: Job, warnings: Sequence[JobFinding], index_number: int) -> None:
        """End a live job as accepted, in the transaction that publishes its version."""
        transaction.execute(
            "update publish_jobs set state = 'accepted', warnings = ?, completed_at = ?, index_number = ? where id = ?",
            (msgspec.json.encode(warnings).decode(), self.now(), index_number, job.id),
        )
        self._enqueue(transaction, _checked(job, warnings, accepted=True))

    def reject(self, job: Job, errors: Sequence[JobFinding]) -> None:
        """End a job as rejected, unless it has already ended."""
        with self.database.write() as transaction:
            self.end_rejected(transaction, job, errors)

    def end_rejected(
        self, transaction: Transaction, job: Job, errors: Sequence[JobFinding], assignments: str = ""
    ) -> None:
        """Do the same within a transaction. `assignments` are further ones, each with a comma behind it."""
        ended = transaction.execute(
            f"update publish_jobs set {assignments}state = 'rejected', errors = ?, completed_at = ?"
            f" where id = ? and {_LIVE}",
            (msgspec.json.encode(errors).decode(), self.now(), job.id),
        )
        if ended:
            self._enqueue(transaction, _checked(job, errors, accepted=False))


def needed_packages(reader: Reader) -> set[str]:
    """Return the ids of the jobs whose packages are needed: live jobs, and those that are set aside."""
    return {row[0] for row in reader.read(f"select id from publish_jobs where {_LIVE} or {_SET_ASIDE}")}


def _checked(job: Job, findings: Sequence[JobFinding], *, accepted: bool) -> Checked:
    return Checked(
        job_id=job.id,
        skill_id=job.skill_id,
        version=job.version,
        scope=job.scope,
        checksum=job.checksum,
        accepted=accepted,
        findings=findings,
    )


def _job(row: tuple[object, ...]) -> Job:
    values = dict(zip(_FIELDS, row, strict=True))
    values["is_set_aside"] = bool(values["is_set_aside"])  # a number in SQLite
    for name in ("errors", "warnings"):
        values[name] = msgspec.json.decode(str(values[name]), type=list[JobFinding])
    if values["decision"] is not None:
        values["decision"] = msgspec.json.decode(str(values["decision"]), type=ReviewDecision)
    if values["run"] is not None:
        values["run"] = msgspec.json.decode(str(values["run"]), type=PublisherRun)
    return Job(**values)  # type: ignore[arg-type]
