"""Handles an upload before its response: stores the package, checks its metadata, and creates a job."""

import contextlib
import hashlib
import os
import uuid
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import quote

from registry.auth.oidc.publishers import is_trusted_only
from registry.auth.private_scopes import is_private
from registry.catalog.conditions import check_narrowing
from registry.catalog.store import Catalog, Clock
from registry.db import Reader, Transaction
from registry.domain.api import API, SCOPES_PATH
from registry.domain.models import RESERVED_IDS, timestamp
from registry.domain.roles import Principal, includes
from registry.errors import FieldError, conflict, exists_already, forbidden, scope_needed, validation_error
from registry.packages.expected import ANY_PACKAGE, Expected
from registry.packages.limits import PackageLimits
from registry.packages.package import Peek, peek
from registry.packages.refusal import PackageRefused
from registry.publish.jobs import Job, Jobs
from registry.publish.published import PublishedVersions
from registry.publish.spool import Spool
from registry.runtime.atomic_files import temporary_path

RESERVED_SCOPES = frozenset(
    {"api", "auth", "index", "v1", "registry", "packages", "static", "dashboard", "healthz", "readyz"}
)


class Upload(NamedTuple):
    """An upload on disk: its file, the hexadecimal digest of its bytes, and its size in bytes."""

    path: Path
    sha256: str
    size: int


class UploadReceiver:
    """Writes one upload into `folder` as it arrives."""

    def __init__(self, folder: Path) -> None:
        self.path = temporary_path(folder, "upload-")
        self._file: BinaryIO = self.path.open("xb")
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, chunk: bytes) -> None:
        """Write the next bytes. Raises OSError."""
        self._file.write(chunk)
        self._digest.update(chunk)
        self.size += len(chunk)

    def finish(self, *, synced: bool = True) -> Upload:
        """Return the upload, synced to disk unless it may be lost in a crash. Raises OSError."""
        self._file.flush()
        if synced:
            os.fsync(self._file.fileno())
        self._file.close()
        return Upload(self.path, self._digest.hexdigest(), self.size)

    def discard(self) -> None:
        """Remove the file, unless a job has taken ownership of it."""
        with contextlib.suppress(OSError):  # to close it is to write what is left, which fails on a full disk
            self._file.close()
        self.path.unlink(missing_ok=True)


class Submitter:
    """Creates jobs for uploads and stores their packages in `spool`.

    `scope_bytes` is the size of all packages that one scope may publish, 0 for no limit.
    """

    def __init__(
        self,
        spool: Spool,
        catalog: Catalog,
        jobs: Jobs,
        published: PublishedVersions,
        limits: PackageLimits,
        clock: Clock,
        scope_bytes: int = 0,
    ) -> None:
        self._spool = spool
        self._catalog = catalog
        self._jobs = jobs
        self._published = published
        self._limits = limits
        self._clock = clock
        self._scope_bytes = scope_bytes

    def submit(
        self,
        upload: Upload,
        caller: Principal,
        idempotency_key: str | None = None,
        expected: Expected = ANY_PACKAGE,
    ) -> Job:
        """Create a job for an upload, or return the live job with the same bytes from the same caller.

        Raises VALIDATION_ERROR for a package of another skill or version than `expected`, invalid records or metadata,
        FORBIDDEN for another scope or one whose packages are too large together, CONFLICT for a version that was
        published before or has a live job.
        """
        job = self._job(upload, caller, expected)
        try:
            return self._add(job, upload.path, idempotency_key)
        except BaseException:
            self._spool.roll_back(job.id)
            raise

    def check(self, upload: Upload, caller: Principal) -> Job:
        """Return the job that `submit` would create, and create none. Raises what `submit` raises."""
        job = self._job(upload, caller, ANY_PACKAGE)
        database = self._catalog.database
        if self._jobs.live(database, job.skill_id, job.version):
            raise conflict(f"Version {job.version} of skill '{job.skill_id}' is being published by another request")
        self._check_free(database, job)
        return job

    def _job(self, upload: Upload, caller: Principal, expected: Expected) -> Job:
        metadata = self._peek(upload.path)
        scope = _scope(metadata, caller)
        _check_names(scope, metadata.name)
        check_narrowing(caller, f"{scope}/{metadata.name}")
        if is_private(self._catalog.database, scope):
            raise forbidden(f"The scope '{scope}' is private: publish to this server below {SCOPES_PATH}/{scope}")
        if caller.publisher is None and is_trusted_only(self._catalog.database, scope):
            raise forbidden(
                f"Only trusted publishers publish to the scope '{scope}': an administrator registers a workflow with "
                "'skill-registry admin publishers add'"
            )
        expected.check(f"{scope}/{metadata.name}", metadata.version)
        _check_dependencies(f"{scope}/{metadata.name}", metadata)
        return Job(
            id=uuid.uuid4().hex,
            skill_id=f"{scope}/{metadata.name}",
            version=metadata.version,
            checksum=f"sha256:{upload.sha256}",
            size=upload.size,
            uploaded_at=timestamp(self._clock()),
            uploaded_by=caller.name,
            publisher=caller.account,
            run=caller.publisher,
        )

    def _add(self, job: Job, package: Path, idempotency_key: str | None) -> Job:
        with self._catalog.database.write() as transaction:
            if earlier := self._earlier(transaction, job, idempotency_key):
                return earlier
            self._check_free(transaction, job)
            self._spool.keep(transaction, job.id, package)
            self._jobs.add(transaction, job, idempotency_key)
        return job

    def _peek(self, package: Path) -> Peek:
        try:
            return peek(package, self._limits)
        except PackageRefused as refused:
            faults = (FieldError(finding.file or "package", finding.message) for finding in refused.findings)
            raise validation_error(*faults) from None

    def _earlier(self, transaction: Transaction, job: Job, idempotency_key: str | None) -> Job | None:
        repeated = self._jobs.same_request(transaction, job.uploaded_by, idempotency_key) if idempotency_key else None
        earlier = repeated or self._jobs.live(transaction, job.skill_id, job.version)
        if earlier is None:
            return None
        if (earlier.uploaded_by, earlier.checksum, earlier.skill_id) == (job.uploaded_by, job.checksum, job.skill_id):
            return earlier
        if repeated:
            raise conflict("The Idempotency-Key was used for another package")
        raise conflict(f"Version {job.version} of skill '{job.skill_id}' is being published by another request")

    def _check_free(self, reader: Reader, job: Job) -> None:
        if (published := self._published.stored(reader, job.skill_id, job.version)) is not None:
            state, checksum = published
            raise exists_already(
                f"Skill '{job.skill_id}' already has or had a version {job.version}, which cannot be reused",
                f"{API}/skills/{job.skill_id}/versions/{quote(job.version, safe='')}",
                f'"{checksum}"' if state == "active" else None,
            )
        stored = self._catalog.find(reader, job.skill_id)
        if stored and not reader.read("select 1 from published where skill_id = ? limit 1", (job.skill_id,)):
            raise conflict(f"Skill '{job.skill_id}' already exists and was not published")
        if self._scope_bytes:
            used = self._jobs.bytes_of(reader, job.scope)
            if used + job.size > self._scope_bytes:
                raise forbidden(
                    f"The packages of the scope '{job.scope}' take {used:,} of {self._scope_bytes:,} bytes, and this "
                    f"one has {job.size:,}: an administrator may raise publish.scope_bytes"
                )


def _scope(metadata: Peek, caller: Principal) -> str:
    """Return the scope of a publication (*Authentication*, rules 7 and 8). Raises FORBIDDEN."""
    if includes(caller.role, "admin") and (metadata.scope or caller.scope):
        return metadata.scope or str(caller.scope)
    if caller.scope is None:
        raise scope_needed()
    if metadata.scope not in (None, caller.scope):
        raise forbidden(f"The package belongs to the scope '{metadata.scope}'; yours is '{caller.scope}'")
    return caller.scope


def _check_dependencies(skill_id: str, metadata: Peek) -> None:
    if any(dependency.id == skill_id for dependency in metadata.dependencies):
        raise validation_error(FieldError("dependencies", f"'{skill_id}' must not need itself: leave it out"))


def _check_names(scope: str, name: str) -> None:
    if scope in RESERVED_SCOPES:
        raise validation_error(FieldError("scope", f"'{scope}' is reserved"))
    if name in RESERVED_IDS:
        raise validation_error(FieldError("name", f"'{name}' is reserved"))
