"""Checks a package as publishing would, and publishes nothing."""

import tempfile
from pathlib import Path

import msgspec

from registry.config.groups import LimitsSettings
from registry.domain.roles import Principal
from registry.inspection.inspector import Inspector
from registry.packages.limits import PackageLimits
from registry.packages.refusal import PackageRefused
from registry.publish.inspected_version import inspected_version
from registry.publish.jobs import Job, JobFinding, Jobs
from registry.publish.published import PublishedVersions
from registry.publish.published_version import PublishedVersion
from registry.publish.spool import UNPACKED_PREFIX
from registry.publish.submission import Submitter, Upload
from registry.skill_folder import FileEntry

_PATIENCE_SECONDS = 10.0


class PackageCheck(msgspec.Struct, kw_only=True):
    """What would become of a package: what it is, its files, and what publishing finds in it.

    `size` is in bytes. `accepted` says whether it could be published now; otherwise `errors` say why not. `previous` is
    the highest version that is published, null for a new skill.
    """

    skill_id: str
    version: str
    description: str
    checksum: str
    size: int
    previous: str | None
    accepted: bool
    files: list[FileEntry]
    errors: list[JobFinding]
    warnings: list[JobFinding]


class PackageChecker:
    """Checks packages one at a time, so that publishing is not held up.

    Args:
        folder: Holds the files of a package while it is checked.
    """

    def __init__(
        self, submitter: Submitter, jobs: Jobs, published: PublishedVersions, limits: LimitsSettings, folder: Path
    ) -> None:
        self._submitter = submitter
        self._jobs = jobs
        self._published = published
        self._limits = PackageLimits(archive_bytes=limits.upload_bytes)
        self._inspector = Inspector(limits, children=1, patience=_PATIENCE_SECONDS)
        self._folder = folder

    def check(self, upload: Upload, caller: Principal) -> PackageCheck:
        """Return what publishing would make of an upload. Nothing of it is kept.

        Raises VALIDATION_ERROR, FORBIDDEN and CONFLICT, as publishing does at once, and SERVICE_UNAVAILABLE if another
        package is being checked for too long.
        """
        job = self._submitter.check(upload, caller)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=UNPACKED_PREFIX) as folder:
            try:
                inspected = self._inspector.read_package(upload.path, Path(folder) / "package", self._limits)
            except PackageRefused as refused:
                return self._answer(job, None, refused)
            version = inspected_version(
                inspected, job.skill_id, job.version, checksum=job.checksum, size=job.size, at=job.uploaded_at
            )
        return self._answer(job, version, None)

    def _answer(self, job: Job, version: PublishedVersion | None, refused: PackageRefused | None) -> PackageCheck:
        warnings = []
        if version is not None:
            version.record.notes = self._published.notes(self._jobs.database, version)
            warnings = version.record.all_findings().findings
        return PackageCheck(
            skill_id=job.skill_id,
            version=job.version,
            description=version.record.description if version else "",
            checksum=job.checksum,
            size=job.size,
            previous=self._published.newest_active(job.skill_id),
            accepted=version is not None,
            files=[FileEntry(path, size) for path, size in version.record.files] if version else [],
            errors=[JobFinding.of(finding) for finding in refused.findings] if refused else [],
            warnings=[JobFinding.of(finding) for finding in warnings],
        )

    def close(self) -> None:
        """End the process that checks."""
        self._inspector.close()
