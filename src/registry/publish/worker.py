"""The thread that processes publish jobs, from a received package to a visible version.

A process claims a job before it works on it, and the claim ends with the process. So no two processes work on the same
job, and any process can resume an interrupted job. Every step is idempotent: a blob is never overwritten, and one
transaction, which requires a live job, adds the version, updates the skill and ends the job.
"""

import logging
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from registry.blobs import BlobConflict, BlobStore, BlobUnavailable, put_checked
from registry.config import groups
from registry.db import ChangeBatch, DatabaseError
from registry.domain.findings import Finding
from registry.domain.models import timestamp
from registry.inspection.inspector import InspectedPackage, InspectionStopped, Inspector
from registry.packages.limits import PackageLimits
from registry.packages.refusal import PackageRefused, security_issue, structure_error
from registry.publish.held import HeldPackage, held_files, is_held
from registry.publish.inspected_version import inspected_version
from registry.publish.jobs import Job, JobFinding, Jobs
from registry.publish.leftovers import Leftovers
from registry.publish.published import PublishedVersions
from registry.publish.published_version import PublishedVersion
from registry.publish.spool import UNPACKED_PREFIX, PackageLost, Spool
from registry.runtime.metrics import Metrics, PublishStep
from registry.runtime.periodic_worker import STOP_SECONDS, PeriodicWorker
from registry.transparency.fork import LogForked, read_fork

_log = logging.getLogger("registry.publish")

_POLL_SECONDS = 1.0
_INDEX_EVERY_SECONDS = 1.0
_FIRST_DELAY_SECONDS = 0.5
_LONGEST_DELAY_SECONDS = 30.0
_DEATHS = 2
"""How many times the process may die during a job before the job is set aside."""

_TO_SECONDS = len("2026-01-31T12:00:00")
"""S3 tells times to the second."""

_STORED_BEFORE = (
    "other bytes are already stored for this version: publish another version, or ask an administrator to look at the"
    " package with 'skill-registry admin fsck'"
)
_SET_ASIDE = "set aside: the process died twice during this job; an administrator can retry it"


class PublishWorker:
    """Processes publish jobs one by one.

    Args:
        yield_to_foreground: Called before each step; waits for foreground requests.
    """

    def __init__(
        self,
        jobs: Jobs,
        published: PublishedVersions,
        spool: Spool,
        store: BlobStore,
        hold: groups.Hold,
        limits: groups.LimitsSettings,
        metrics: Metrics,
        yield_to_foreground: Callable[[], None],
    ) -> None:
        self._database = jobs.database
        self._jobs = jobs
        self._published = published
        self._spool = spool
        self._store = store
        self._hold = hold
        self._limits = PackageLimits(archive_bytes=limits.upload_bytes)
        self._inspector = Inspector(limits, children=1)
        self._tries = limits.publish_tries
        self._metrics = metrics
        self._yield_to_foreground = yield_to_foreground
        self._thread = PeriodicWorker("publish", self._round, _log, (DatabaseError,), longest=5.0)
        self._leftovers = Leftovers(jobs.database, spool)
        self._indexed_at = 0.0
        self._begun: set[str] = set()
        """The jobs with a recorded start and no recorded end."""

    def start(self) -> None:
        """Start the thread, which first resumes interrupted jobs."""
        self._thread.start()

    def wake(self) -> None:
        """Process jobs soon: there is a new one."""
        self._thread.wake()

    def stop(self) -> None:
        """Stop after the current step, or after a time limit. The next start resumes the job."""
        self._inspector.close()
        self._thread.stop(STOP_SECONDS)
        try:
            for job_id in list(self._begun):
                self._jobs.leave(job_id)
        except DatabaseError as error:
            _log.warning("an interrupted publish job counts as one whose process died: %s", error)

    def _round(self) -> float:
        if read_fork(self._database) is not None:
            return _POLL_SECONDS  # nothing may be published; jobs wait
        try:
            self._leftovers.remove_due()
            with self._database.hooks.batch() as changes:
                for job_id in self._jobs.due(time.time()):
                    if self._thread.is_stopped:
                        break
                    self._process(job_id)
                    if time.monotonic() >= self._indexed_at + _INDEX_EVERY_SECONDS:
                        self._index(changes)
                self._index(changes)
        except Exception:
            self._leftovers.expect()  # the end of a job may be recorded although an error was raised
            raise
        return _POLL_SECONDS

    def _index(self, changes: ChangeBatch) -> None:
        """Index the accepted versions in one batch. A search before that indexes them itself."""
        if changes.is_pending:
            with self._metrics.publish_step("show"):
                changes.flush()
            self._indexed_at = time.monotonic()

    def _process(self, job_id: str) -> None:
        with self._database.claim(f"publish {job_id}") as is_claimed:
            job = self._jobs.get(job_id) if is_claimed else None
            if job is None or not job.has_work:
                return
            if job.begun - (job_id in self._begun) >= _DEATHS:
                self._set_aside(job)
                return
            try:
                with self._spool.open(job_id) as package:
                    self._attempt(job, package)
            except PackageLost:
                self._reject(job, structure_error("package-lost", "the package was lost; publish it again"))
            after = self._jobs.get(job_id)
            if after and not after.has_work:
                self._begun.discard(job_id)
            if after and not after.is_live:
                self._spool.remove(job_id)

    def _attempt(self, job: Job, package: Path) -> None:
        if job.id not in self._begun:  # a database error can leave the last attempt open
            self._jobs.begin(job)
            self._begun.add(job.id)
        try:
            self._publish(job, package)
        except InspectionStopped:
            pass  # the service stops; the next process repeats the attempt
        except LogForked:
            self._jobs.leave(job.id)  # it waits, as all jobs do now
            self._begun.discard(job.id)
        except PackageRefused as refused:
            self._reject(job, *refused.findings)
        except BlobConflict as error:
            _log.error("publish job %s: %s", job.id, error)
            self._reject(job, security_issue("blob-conflict", _STORED_BEFORE))
        except Exception as error:  # an unexpected error must end in a retry or a rejection, not stop other jobs
            if not self._thread.is_stopped:
                self._postpone(job, error)

    def _step(self, name: PublishStep) -> AbstractContextManager[object]:
        self._yield_to_foreground()
        return self._metrics.publish_step(name)

    def _publish(self, job: Job, package: Path) -> None:
        with tempfile.TemporaryDirectory(dir=self._spool.folder, prefix=UNPACKED_PREFIX) as folder:
            with self._step("read"):
                inspected = self._inspector.read_package(package, Path(folder) / "package", self._limits)
            names, at = (job.skill_id, job.version), self._jobs.now()
            version = inspected_version(inspected, *names, checksum=job.checksum, size=job.size, at=at)
            version.record.publisher = job.run
            held = self._held(job, inspected, version)
        if self._thread.is_stopped:
            return
        if held is not None:
            self._wait_for_review(job, held)
            return
        with self._step("store"):
            self._store_package(job, version.key, package)
        with self._step("record"), self._database.write() as transaction:
            if job.id not in self._jobs.due_ids(transaction):
                return  # the claim was lost with the connection, and another process ended the job
            revision = self._published.add(transaction, version)
            warnings = [JobFinding.of(finding) for finding in version.record.all_findings().findings]
            self._jobs.accept(transaction, job, warnings, revision)
        _log.info("published %s %s (%s)", job.skill_id, job.version, job.checksum)

    def _store_package(self, job: Job, key: str, package: Path) -> None:
        """Store a package. What an earlier attempt of the same job has left there, changed by the store, goes first.

        That attempt could not remove it: the process died, or the store refused. Anything else that the key holds
        stays, because a restored, older database may have lost its version. Raises BlobConflict, BlobUnavailable.
        """
        try:
            put_checked(self._store, key, package)
        except BlobConflict:
            was_tried = job.tries > 0 or job.begun > 0
            stored_at = timestamp(self._store.stored_at(key))
            if not was_tried or stored_at[:_TO_SECONDS] < job.uploaded_at[:_TO_SECONDS]:
                raise
            self._store.remove(key)
            raise BlobUnavailable(f"an earlier attempt has left {key} with other bytes than were written") from None

    def _held(self, job: Job, inspected: InspectedPackage, version: PublishedVersion) -> HeldPackage | None:
        """Return what a reviewer sees of a package that must be reviewed first; None if it may be published."""
        if self._hold == "off" or job.decision is not None:
            return None
        version.record.notes = self._published.notes(self._database, version)
        if not is_held(self._hold, version.record.all_findings().risk):
            return None
        return HeldPackage.of(version, held_files(inspected))

    def _wait_for_review(self, job: Job, package: HeldPackage) -> None:
        with self._step("record"), self._database.write() as transaction:
            if job.id not in self._jobs.due_ids(transaction):
                return  # as above
            self._jobs.hold(transaction, job, package)
        _log.info("held %s %s for a review: %s risk", job.skill_id, job.version, package.risk)

    def _reject(self, job: Job, *findings: Finding) -> None:
        self._jobs.reject(job, [JobFinding.of(finding) for finding in findings])
        _log.info("rejected %s %s", job.skill_id, job.version)

    def _set_aside(self, job: Job) -> None:
        self._jobs.set_aside(job, JobFinding.of(structure_error("set-aside", _SET_ASIDE)))
        self._begun.discard(job.id)
        _log.error("publish job %s of %s %s: %s", job.id, job.skill_id, job.version, _SET_ASIDE)

    def _postpone(self, job: Job, error: Exception) -> None:
        is_outage = isinstance(error, BlobUnavailable | OSError)
        _log.warning("publish job %s, try %d: %s", job.id, job.tries + 1, error, exc_info=None if is_outage else error)
        if job.tries + 1 >= self._tries and job.decision is None:  # what was approved is never given up
            self._reject(job, structure_error("storage", "the package could not be stored; publish it again later"))
            return
        delay = min(_FIRST_DELAY_SECONDS * 2 ** min(job.tries, 10), _LONGEST_DELAY_SECONDS)
        self._jobs.postpone(job, time.time() + delay)
        self._begun.discard(job.id)
