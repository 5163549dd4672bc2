"""Publishing of one running service: its parts, their life, and what is told of jobs and versions."""

import hashlib
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from registry.blobs import BlobMissing, BlobStore, BlobUnavailable, configured_store
from registry.blobs.store import chunks
from registry.catalog.store import Catalog, Clock
from registry.config.settings import Settings
from registry.db import Transaction
from registry.domain.roles import Principal, includes
from registry.errors import RegistryError, conflict, forbidden, service_unavailable
from registry.events.webhooks import Checked
from registry.findings.engine import skill_findings
from registry.inspection import Inspector, NotScanned
from registry.packages.limits import PackageLimits
from registry.publish.git_index import AttachedFile, GitIndex
from registry.publish.index_files import IndexFiles
from registry.publish.index_pusher import IndexPusher
from registry.publish.jobs import Job, JobFinding, Jobs, JobState
from registry.publish.published import PublishedVersion, PublishedVersions, VersionState
from registry.publish.spool import UNPACKED_PREFIX, DatabaseSpool, FolderSpool
from registry.publish.submitting import Received, Receiver, Submitting
from registry.publish.worker import PublishWorker
from registry.runtime.metrics import Metrics
from search.engine import Engine

_log = logging.getLogger("registry.publish")

FOLDER = "publish"
"""The folder of the data directory that holds uploads until their jobs end."""


class JobData(msgspec.Struct, kw_only=True):
    """A publish job in answers. `size` is in bytes; `index_synced` says whether the git repository has the version."""

    job_id: str
    status: JobState
    skill_id: str
    version: str
    checksum: str
    size: int
    uploaded_at: str
    uploaded_by: str
    completed_at: str | None
    errors: list[JobFinding]
    warnings: list[JobFinding]
    published_to_blob_storage: bool
    published_to_index: bool
    index_synced: bool
    download_url: str | None


class IndexedSkill(msgspec.Struct, kw_only=True):
    """A published skill in the list of the index: `versions` are the active ones, the newest first."""

    id: str
    scope: str
    name: str
    description: str
    latest_version: str
    published_at: str
    versions: list[str]


class Publishing:
    """Receives packages, works them off, and gives them out. One process of a catalog pushes the index.

    Searches of `engine` have priority. `note` enqueues webhook notifications. Raises BlobUnavailable if the store
    cannot be opened at all.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        published: PublishedVersions,
        clock: Clock,
        engine: Engine,
        note: Callable[[Transaction, Checked], None],
        checkpoint: AttachedFile,
        metrics: Metrics,
    ) -> None:
        database = catalog.database
        self._limits = limits = PackageLimits(archive_bytes=settings.limits.upload_bytes)
        self._files = IndexFiles.configured(published, settings)
        self._inspector = Inspector(settings.limits)
        self._metrics = metrics
        self.upload_bytes = settings.limits.upload_bytes
        self.published = published
        self.store: BlobStore = configured_store(settings)
        self.jobs = Jobs(database, clock, note)
        self._folder = settings.data_dir / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        spool = DatabaseSpool(database, self._folder) if settings.is_replicated else FolderSpool(self._folder)
        self._submitting = Submitting(spool, catalog, self.jobs, self.published, limits, clock)
        self._worker = PublishWorker(
            self.jobs,
            self.published,
            spool,
            self.store,
            settings.limits,
            metrics,
            engine.search.in_flight.yield_to_foreground,
        )
        self._pusher = IndexPusher(database, git_index(settings), self._files.file, checkpoint, metrics)
        database.hooks.after_change(self._pusher.wake)

    def start(self) -> None:
        """Begin to work jobs off; what was left by a stop or a crash comes first."""
        self._worker.start()

    def start_leading(self) -> None:
        """Begin to push the index, first what was left."""
        self._pusher.start()

    def stop_leading(self) -> None:
        """Leave the index to another process, until started again."""
        self._pusher.stop()

    def stop(self) -> None:
        """Stop at a step boundary."""
        self._inspector.close()
        self._worker.stop()
        self.stop_leading()

    def look(self) -> None:
        """Take up what another process may have left to do."""
        self._worker.wake()
        self._pusher.look()

    def receive(self) -> Receiver:
        """Return what takes the bytes of one upload."""
        return Receiver(self._folder)

    def submit(self, received: Received, caller: Principal, idempotency_key: str | None) -> Job:
        """Make a job of an upload. Raises VALIDATION_ERROR, FORBIDDEN, CONFLICT."""
        with self._metrics.publish_step("submit"):
            job = self._submitting.submit(received, caller, idempotency_key)
        self._worker.wake()
        return job

    def job(self, job_id: str, caller: Principal) -> JobData:
        """Return how a job is to those who may see it. Raises NOT_FOUND."""
        job = self.jobs.visible(job_id, caller)
        is_accepted = job.state == "accepted"
        number = job.index_number
        return JobData(
            job_id=job.id,
            status=job.state,
            skill_id=job.skill_id,
            version=job.version,
            checksum=job.checksum,
            size=job.size,
            uploaded_at=job.uploaded_at,
            uploaded_by=job.uploaded_by,
            completed_at=job.completed_at,
            errors=job.errors,
            warnings=job.warnings,
            published_to_blob_storage=is_accepted,
            published_to_index=is_accepted,
            index_synced=number is not None and self._pusher.is_pushed(job.skill_id, number),
            download_url=self._files.download_url(job.skill_id, job.version) if is_accepted else None,
        )

    def index_file(self, skill_id: str) -> bytes:
        """Return a skill's file of the index, empty where it was never published."""
        return self._files.file(skill_id)

    def index_skills(self) -> list[IndexedSkill]:
        """Return the published skills that have an active version, in order of id."""
        found = []
        for skill_id in self.published.skill_ids():
            active = [one for one in self.published.versions(skill_id) if one.state == "active"]
            if active:
                found.append(_indexed(active))
        return found

    def set_state(self, caller: Principal, skill_id: str, version: str, state: VersionState) -> None:
        """Yank, unyank or revoke a version. Raises FORBIDDEN, SKILL_NOT_FOUND."""
        check_owner(caller, skill_id)
        self.published.set_state(skill_id, [version], state)
        self._pusher.wake()

    def package(self, version: PublishedVersion) -> BinaryIO:
        """Return the bytes of a version as a file that is gone when it is closed, their digest checked.

        Raises CONFLICT for one that is revoked, SERVICE_UNAVAILABLE where the store is down or holds something else.
        """
        if version.state == "revoked":
            raise conflict(f"Version {version.version} of skill '{version.skill_id}' is revoked: it is not given out")
        copy: BinaryIO = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - the caller closes it
        try:
            self._copy(version, copy)
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return copy

    def look_again(self, skill_id: str, version: str) -> None:
        """Renew the findings of a version from its package. Raises what `package` does, PackageRefused, OSError."""
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=UNPACKED_PREFIX) as folder:
            package = Path(folder) / "package.zip"
            with package.open("xb") as copy:
                self._copy(self.published.find(skill_id, version), copy)
            try:
                findings = self._inspector.read_package(
                    package, Path(folder) / "package", self._limits
                ).package.findings
            except NotScanned as refused:
                findings = skill_findings(list(refused.findings))
        self.published.set_findings(skill_id, version, findings)

    def _copy(self, version: PublishedVersion, copy: BinaryIO) -> None:
        """Write a version's bytes into `copy`, their digest checked. Raises SERVICE_UNAVAILABLE."""
        digest = hashlib.sha256()
        try:
            with self.store.open(version.key) as stored:
                for chunk in chunks(stored):
                    digest.update(chunk)
                    copy.write(chunk)
        except BlobMissing:
            raise _damaged(version, "nothing") from None
        except BlobUnavailable as error:
            _log.warning("a package cannot be read: %s", error)
            raise service_unavailable("The packages cannot be read just now") from None
        if (found := f"sha256:{digest.hexdigest()}") != version.checksum:
            raise _damaged(version, found)


def git_index(settings: Settings) -> GitIndex:
    """Return the index the settings name, without reaching for it."""
    index, limits = settings.registry_index, settings.limits
    url = index.url.reveal() if index.url else ""
    folder = index.path or settings.data_dir / "registry-index"
    return GitIndex(url, index.branch, folder, seconds=limits.git_seconds, limit=limits.index_bytes)


def check_owner(caller: Principal, skill_id: str) -> None:
    """Refuse a change to what is published in another's scope (*Authentication*, rule 7). Raises FORBIDDEN."""
    scope = skill_id.partition("/")[0]
    if caller.scope != scope and not includes(caller.role, "admin"):
        raise forbidden(f"Skill '{skill_id}' is of the scope '{scope}', which is not yours")


def _damaged(version: PublishedVersion, found: str) -> RegistryError:
    _log.error(
        "the package of %s %s is damaged: the store holds %s instead of %s",
        version.skill_id,
        version.version,
        found,
        version.checksum,
    )
    return service_unavailable("The stored package is not the one that was published, and is not given out", 3600)


def _indexed(active: list[PublishedVersion]) -> IndexedSkill:
    newest = active[-1]
    scope, _, name = newest.skill_id.partition("/")
    return IndexedSkill(
        id=newest.skill_id,
        scope=scope,
        name=name,
        description=newest.record.description,
        latest_version=newest.version,
        published_at=newest.published_at,
        versions=[one.version for one in reversed(active)],
    )
