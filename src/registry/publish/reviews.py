"""Reviews of packages that are held: who may see and decide them, and the decisions.

A held package is in the spool of uploads and nowhere else: no published version, no stored package, no document. So
nothing that reads those can show it. A decision is one transaction. The worker publishes what was approved, and a crash
before that leaves an approved job, which the next worker takes.
"""

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from typing import BinaryIO, NamedTuple, cast

import msgspec

from registry.db import Reader
from registry.domain.findings import RISKS, Finding, Risk
from registry.domain.roles import Principal, includes
from registry.errors import RegistryError, conflict, forbidden, not_found
from registry.packages.limits import PackageLimits
from registry.packages.package import copy_file
from registry.packages.refusal import security_issue
from registry.publish.held import HeldFile, Outcome, ReviewDecision
from registry.publish.jobs import Job, JobFinding, Jobs
from registry.publish.spool import PackageLost, Spool

_BUFFERED_BYTES = 1 << 20


class Review(msgspec.Struct, kw_only=True):
    """A package that waits for a review. `size` is in bytes.

    `may_decide` says whether the caller may approve or reject it.
    """

    job_id: str
    skill_id: str
    version: str
    checksum: str
    size: int
    uploaded_at: str
    uploaded_by: str
    held_at: str
    risk: Risk
    may_decide: bool


class ReviewDetail(Review, kw_only=True):
    """A package that waits for a review, or did, with what was found in it.

    `previous` is the highest version that is published, null for a new skill. `decision` is null until there is one.
    """

    description: str
    previous: str | None
    findings: list[Finding]
    files: list[HeldFile]
    decision: ReviewDecision | None


class OpenHeldFile(NamedTuple):
    """A file of a held package, open for reading; the caller closes `content`. `held_at` is a timestamp."""

    file: HeldFile
    held_at: str
    content: BinaryIO


class Reviews:
    """Reads and decides reviews."""

    def __init__(self, jobs: Jobs, spool: Spool) -> None:
        self._jobs = jobs
        self._database = jobs.database
        self._spool = spool

    def waiting(self, caller: Principal, limit: int, offset: int) -> tuple[list[Review], int]:
        """Return the packages that wait for a review in the scope of the caller, the oldest first, and their number.

        To administrators, those of every scope.
        """
        jobs, total = self._jobs.held(None if includes(caller.role, "admin") else caller.scope or "", limit, offset)
        return [_review(job, caller) for job in jobs], total

    def detail(self, job_id: str, caller: Principal, previous: Callable[[str], str | None]) -> ReviewDetail:
        """Return a package that waits for a review or did. `previous` returns the version before. Raises NOT_FOUND."""
        job = self._visible(self._database, job_id, caller)
        package = self._jobs.held_package(job_id)
        if package is None:
            raise _no_review(job_id)
        review = msgspec.structs.asdict(_review(job, caller)) | {"risk": package.risk}
        return ReviewDetail(
            **review,
            description=package.description,
            previous=previous(job.skill_id),
            findings=package.findings,
            files=package.files,
            decision=job.decision,
        )

    def file(self, job_id: str, path: str, caller: Principal) -> OpenHeldFile:
        """Return a file of a package that waits for a review, open as a temporary file. Raises NOT_FOUND, OSError."""
        job = self._visible(self._database, job_id, caller)
        package = self._jobs.held_package(job_id)
        file = next((file for file in package.files if file.path == path), None) if package else None
        if file is None or not job.is_live:
            raise not_found(f"File of review '{job_id[:64]}'")
        with ExitStack() as undo:
            content = undo.enter_context(self._temporary())
            try:
                with self._spool.open(job_id) as spooled, spooled.open("rb") as archive:
                    copy_file(archive, path, content, PackageLimits(archive_bytes=job.size))
            except (PackageLost, FileNotFoundError):  # it was decided just now
                raise not_found(f"File of review '{job_id[:64]}'") from None
            content.seek(0)
            undo.pop_all()
        return OpenHeldFile(file, job.held_at or "", content)

    def _temporary(self) -> BinaryIO:
        return cast(BinaryIO, tempfile.SpooledTemporaryFile(_BUFFERED_BYTES, dir=str(self._spool.folder)))

    def decide(self, job_id: str, caller: Principal, outcome: Outcome, reason: str) -> Job:
        """Approve or reject a held package, and return its job.

        Raises NOT_FOUND, FORBIDDEN for who published it, CONFLICT if it was decided before.
        """
        decision = ReviewDecision(outcome=outcome, by=caller.name, reason=reason, at=self._jobs.now())
        with self._database.write() as transaction:
            job = self._visible(transaction, job_id, caller)
            if _is_publisher(job, caller):
                raise forbidden(
                    f"'{caller.name}' published {job.skill_id} {job.version}: another manager of the scope "
                    f"'{job.scope}' or an administrator reviews it"
                )
            if not self._jobs.decide(transaction, job, decision):
                verdict = job.decision
                ended = f"{verdict.outcome} by '{verdict.by}'" if verdict else job.state
                raise conflict(f"{job.skill_id} {job.version} does not wait for a review: it is {ended}")
            transaction.touched.append(f"{job.skill_id}@{job.version} {outcome}: {reason}")
            if outcome == "rejected":
                message = f"rejected in review by '{caller.name}': {reason}"
                self._jobs.end_rejected(transaction, job, [JobFinding.of(security_issue("review", message))])
        if outcome == "rejected":
            self._spool.remove(job_id)
        return self._jobs.visible(job_id, caller)

    def _visible(self, reader: Reader, job_id: str, caller: Principal) -> Job:
        """Return a job that was held, to managers of its scope and administrators. Raises NOT_FOUND."""
        job = self._jobs.read(reader, job_id)
        is_of_scope = job is not None and includes(caller.role, "manager") and job.scope == caller.scope
        if job is None or job.held_at is None or not (is_of_scope or includes(caller.role, "admin")):
            raise _no_review(job_id)
        return job


def _is_publisher(job: Job, caller: Principal) -> bool:
    """Return whether a caller uploaded the package, by whatever name its tokens call it."""
    return caller.account == job.publisher or caller.name == job.uploaded_by


def _review(job: Job, caller: Principal) -> Review:
    return Review(
        job_id=job.id,
        skill_id=job.skill_id,
        version=job.version,
        checksum=job.checksum,
        size=job.size,
        uploaded_at=job.uploaded_at,
        uploaded_by=job.uploaded_by,
        held_at=job.held_at or "",
        risk=max((warning.severity for warning in job.warnings), key=RISKS.index, default="none"),
        may_decide=job.state == "held" and job.decision is None and not _is_publisher(job, caller),
    )


def _no_review(job_id: str) -> RegistryError:
    return not_found(f"Review '{job_id[:64]}'")
