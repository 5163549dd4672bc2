"""The publish service: its components and their lifecycle, uploads, jobs, versions and downloads."""

import contextlib
import logging
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from registry.catalog.conditions import Conditions, check_owner
from registry.catalog.store import Catalog
from registry.config.settings import Settings
from registry.db import Transaction
from registry.domain.roles import Principal
from registry.domain.withdrawals import NO_NOTE, WithdrawalNote
from registry.errors import conflict, skill_not_found
from registry.events.webhooks import Checked
from registry.findings.engine import skill_findings
from registry.inspection.inspector import Inspector, NotScanned
from registry.outbound.configured import git_access
from registry.outbound.git_run import GitLimits
from registry.packages.expected import ANY_PACKAGE, Expected
from registry.packages.limits import PackageLimits
from registry.publish.change_feed import ChangeFeed
from registry.publish.checking import PackageChecker
from registry.publish.git_index import GitIndex
from registry.publish.held import Outcome, ReviewDecision
from registry.publish.index_files import IndexFiles
from registry.publish.index_log import IndexLog
from registry.publish.index_pusher import IndexPusher
from registry.publish.indexed_skills import IndexedSkill, indexed_skills
from registry.publish.jobs import Job, JobFinding, Jobs, JobState
from registry.publish.published import PublishedVersions
from registry.publish.published_version import VersionState
from registry.publish.reviews import ReviewDetail, Reviews
from registry.publish.spool import UNPACKED_PREFIX, package_spool
from registry.publish.stored_packages import FOLDER, StoredPackages
from registry.publish.submission import Submitter, Upload, UploadReceiver
from registry.publish.worker import PublishWorker
from registry.runtime.metrics import Metrics
from registry.transparency.fork import LogForked, refuse_if_forked
from search.engine import Engine

_log = logging.getLogger("registry.publish")


class JobData(msgspec.Struct, kw_only=True):
    """A publish job in responses. `size` is in bytes. `index_synced`: the git repository lists the version.

    `set_aside`: the service died twice during the job, keeps its package, and an administrator may retry it.
    `held_at`: when the package began to wait for a review, null if it did not; `review` is the decision on it.
    """

    job_id: str
    status: JobState
    set_aside: bool
    skill_id: str
    version: str
    checksum: str
    size: int
    uploaded_at: str
    uploaded_by: str
    completed_at: str | None
    held_at: str | None
    review: ReviewDecision | None
    errors: list[JobFinding]
    warnings: list[JobFinding]
    published_to_blob_storage: bool
    published_to_index: bool
    index_synced: bool
    download_url: str | None


class Publishing:
    """Receives and publishes packages. One process of a catalog pushes the index.

    Searches of `engine` have priority. `enqueue` adds webhook notifications.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        published: PublishedVersions,
        packages: StoredPackages,
        engine: Engine,
        enqueue: Callable[[Transaction, Checked], None],
        index_log: IndexLog,
        metrics: Metrics,
    ) -> None:
        self._database = database = catalog.database
        self._limits = limits = PackageLimits(archive_bytes=settings.limits.upload_bytes)
        self._urls = settings.package_urls
        self._files = IndexFiles(published, self._urls)
        self.feed = ChangeFeed(database, self._urls)
        self._inspector = Inspector(settings.limits)
        self._metrics = metrics
        self.upload_bytes = settings.limits.upload_bytes
        self.published = published
        self.packages = packages
        self.jobs = Jobs(database, catalog.clock, enqueue)
        self._folder = settings.data_dir / FOLDER
        spool = package_spool(settings, database)
        self.reviews = Reviews(self.jobs, spool)
        quota = settings.publish.scope_bytes
        self._submitter = Submitter(spool, catalog, self.jobs, self.published, limits, catalog.clock, quota)
        self.checker = PackageChecker(self._submitter, self.jobs, published, settings.limits, self._folder)
        self._worker = PublishWorker(
            self.jobs,
            self.published,
            spool,
            packages.store,
            settings.publish.hold,
            settings.limits,
            metrics,
            engine.search.in_flight.yield_to_foreground,
        )
        self._pusher = IndexPusher(database, git_index(settings), self._files.file, index_log, metrics)
        with contextlib.suppress(LogForked):  # the remote is compared later; it may be unavailable
            self._pusher.check_clone()
        database.hooks.after_change(self._pusher.wake)

    def start(self) -> None:
        """Start the worker, which first resumes jobs that a stop or a crash interrupted."""
        self._worker.start()

    def start_leading(self) -> None:
        """Start to push the index, beginning with pending files."""
        self._pusher.start()

    def stop_leading(self) -> None:
        """Stop pushing the index, because another process does."""
        self._pusher.stop()

    def stop(self) -> None:
        """Stop the worker and the pusher. An interrupted job continues after the next start."""
        self._inspector.close()
        self.checker.close()
        self._worker.stop()
        self.stop_leading()

    def poll(self) -> None:
        """Check for work that another process may have left, and announce changes of any process."""
        self.feed.announce()
        self._worker.wake()
        self._pusher.poll()

    def drain(self) -> None:
        """Answer the requests that wait for a change. Call it in the event loop."""
        self.feed.signal.close()

    def receive(self) -> UploadReceiver:
        """Return the receiver of one upload."""
        return UploadReceiver(self._folder)

    def submit(
        self, upload: Upload, caller: Principal, idempotency_key: str | None, expected: Expected = ANY_PACKAGE
    ) -> Job:
        """Create a job for an upload, which must be what is `expected`.

        Raises VALIDATION_ERROR, FORBIDDEN, CONFLICT, LogForked.
        """
        refuse_if_forked(self.jobs.database)
        with self._metrics.publish_step("submit"):
            job = self._submitter.submit(upload, caller, idempotency_key, expected)
        self._worker.wake()
        return job

    def job(self, job_id: str, caller: Principal) -> JobData:
        """Return a job if the caller may see it. Raises NOT_FOUND."""
        return self._data(self.jobs.visible(job_id, caller))

    def all_jobs(self, caller: Principal, limit: int, offset: int) -> tuple[list[JobData], int]:
        """Return the jobs that the caller may see, newest first, at most `limit` after `offset`; and their number."""
        jobs, total = self.jobs.all_visible(caller, limit, offset)
        return [self._data(job) for job in jobs], total

    def retry(self, job_id: str) -> JobData:
        """Retry a job that is set aside, and return it. Raises NOT_FOUND, CONFLICT, LogForked."""
        refuse_if_forked(self.jobs.database)
        job = self.jobs.retry(job_id)
        self._worker.wake()
        return self._data(job)

    def review(self, job_id: str, caller: Principal) -> ReviewDetail:
        """Return a package that waits for a review or did, to who may review it. Raises NOT_FOUND."""
        return self.reviews.detail(job_id, caller, self.published.newest_active)

    def decide(self, job_id: str, caller: Principal, outcome: Outcome, reason: str) -> JobData:
        """Approve or reject a held package, and return its job.

        Raises NOT_FOUND, FORBIDDEN for who published it, CONFLICT if it was decided before, LogForked.
        """
        refuse_if_forked(self.jobs.database)
        job = self.reviews.decide(job_id, caller, outcome, reason)
        self._worker.wake()
        return self._data(job)

    def _data(self, job: Job) -> JobData:
        is_accepted = job.state == "accepted"
        revision = job.index_number
        return JobData(
            job_id=job.id,
            status=job.state,
            set_aside=job.is_set_aside,
            skill_id=job.skill_id,
            version=job.version,
            checksum=job.checksum,
            size=job.size,
            uploaded_at=job.uploaded_at,
            uploaded_by=job.uploaded_by,
            completed_at=job.completed_at,
            held_at=job.held_at,
            review=job.decision,
            errors=job.errors,
            warnings=job.warnings,
            published_to_blob_storage=is_accepted,
            published_to_index=is_accepted,
            index_synced=revision is not None and self._pusher.is_pushed(job.skill_id, revision),
            download_url=self._urls.of(job.skill_id, job.version) if is_accepted else None,
        )

    def index_file(self, skill_id: str) -> bytes:
        """Return the index file of a skill; empty if the skill was never published."""
        return self._files.file(skill_id)

    def index_skills(self) -> list[IndexedSkill]:
        """Return the published skills that have an active version, in order of id."""
        return indexed_skills(self._database)

    def set_state(
        self,
        caller: Principal,
        skill_id: str,
        version: str,
        state: VersionState,
        etags: Collection[str] | None = None,
        note: WithdrawalNote = NO_NOTE,
    ) -> None:
        """Yank, unyank or revoke a version.

        Raises FORBIDDEN, SKILL_NOT_FOUND, PRECONDITION_FAILED where `etags` lack the one of the skill, LogForked.
        """
        check_owner(caller, skill_id)
        self.published.set_state(skill_id, [version], state, Conditions(etags, caller), note)
        self._pusher.wake()

    def set_deprecated(self, caller: Principal, skill_id: str, note: WithdrawalNote | None) -> None:
        """Deprecate a skill, or undo that without a note. Raises FORBIDDEN, SKILL_NOT_FOUND, LogForked."""
        check_owner(caller, skill_id)
        self.published.set_deprecated(skill_id, note)
        self._pusher.wake()

    def restore(self, caller: Principal, skill_id: str) -> None:
        """Unyank every version of a skill that has no active one. Raises FORBIDDEN, SKILL_NOT_FOUND, CONFLICT."""
        check_owner(caller, skill_id)
        versions = self.published.summaries(skill_id)
        if any(version.state == "active" for version in versions):
            raise conflict(f"Skill '{skill_id}' is not deleted: name the version to restore")
        yanked = [version.version for version in versions if version.state == "yanked"]
        if not yanked:
            raise skill_not_found(skill_id)
        self.published.set_state(skill_id, yanked, "active")
        self._pusher.wake()

    def rescan(self, skill_id: str, version: str) -> None:
        """Scan the package of a version again and store its findings.

        Raises SKILL_NOT_FOUND, SERVICE_UNAVAILABLE, PackageRefused, OSError.
        """
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=UNPACKED_PREFIX) as folder:
            package = Path(folder) / "package.zip"
            with package.open("xb") as copy:
                self.packages.copy(self.published.find(skill_id, version), copy)
            try:
                findings = self._inspector.read_package(
                    package, Path(folder) / "package", self._limits
                ).package.findings
            except NotScanned as refused:
                findings = skill_findings(list(refused.findings))
        self.published.set_findings(skill_id, version, findings)


def git_index(settings: Settings, folder: Path | None = None) -> GitIndex:
    """Return the configured index, without a connection to it, with its clone in the configured or another folder."""
    index, limits = settings.registry_index, settings.limits
    url = index.url.reveal() if index.url else ""
    folder = folder or index.path or settings.data_dir / "registry-index"
    of_git = GitLimits(limits.git_seconds, limits.index_bytes, limits.git_memory_bytes, "limits.index_bytes")
    return GitIndex(url, index.branch, folder, of_git, git_access(settings.outbound))
