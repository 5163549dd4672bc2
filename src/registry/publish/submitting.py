"""What happens to a package before its upload is answered: kept on disk, looked at, and written down as a job."""

import hashlib
import os
import shutil
import uuid
from pathlib import Path
from typing import BinaryIO, NamedTuple

from registry.catalog.store import Catalog, Clock
from registry.db import Transaction
from registry.domain.models import RESERVED_IDS, timestamp
from registry.domain.roles import Principal, includes
from registry.errors import FieldError, conflict, forbidden, validation_error
from registry.packages.limits import PackageLimits
from registry.packages.package import Peek, peek
from registry.packages.refusal import PackageRefused
from registry.publish.jobs import Job, Jobs
from registry.publish.published import PublishedVersions
from registry.publish.spool import UNPACKED_PREFIX, Spool
from registry.runtime.atomic_files import TEMPORARY_PREFIX, temporary_path

RESERVED_SCOPES = frozenset(
    {"api", "auth", "index", "v1", "registry", "packages", "static", "dashboard", "healthz", "readyz"}
)


class Received(NamedTuple):
    """An upload on our disk: its file, the digest of its bytes in hexadecimal, its size in bytes."""

    path: Path
    sha256: str
    size: int


class Receiver:
    """Writes one upload into `folder` as it arrives."""

    def __init__(self, folder: Path) -> None:
        self.path = temporary_path(folder, "upload-")
        self._file: BinaryIO = self.path.open("xb")
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, chunk: bytes) -> None:
        """Take the next bytes. Raises OSError."""
        self._file.write(chunk)
        self._digest.update(chunk)
        self.size += len(chunk)

    def finish(self) -> Received:
        """Return the upload, safe on the disk. Raises OSError."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return Received(self.path, self._digest.hexdigest(), self.size)

    def discard(self) -> None:
        """Leave nothing behind, unless a job has taken the file over."""
        self._file.close()
        self.path.unlink(missing_ok=True)


class Submitting:
    """Makes jobs of uploads, whose packages wait in `spool`."""

    def __init__(
        self,
        spool: Spool,
        catalog: Catalog,
        jobs: Jobs,
        published: PublishedVersions,
        limits: PackageLimits,
        clock: Clock,
    ) -> None:
        self._spool = spool
        self._catalog = catalog
        self._jobs = jobs
        self._published = published
        self._limits = limits
        self._clock = clock

    def submit(self, received: Received, caller: Principal, idempotency_key: str | None = None) -> Job:
        """Make a job of an upload, or return the live one that has the same bytes from the same caller.

        Raises VALIDATION_ERROR for what is wrong at first sight, FORBIDDEN for another's scope, CONFLICT for a version
        that was published ever before, or is about to be.
        """
        said = self._peek(received.path)
        scope = _scope(said, caller)
        _check_names(scope, said.name)
        job = Job(
            id=uuid.uuid4().hex,
            skill_id=f"{scope}/{said.name}",
            version=said.version,
            checksum=f"sha256:{received.sha256}",
            size=received.size,
            uploaded_at=timestamp(self._clock()),
            uploaded_by=caller.name,
        )
        try:
            return self._add(job, received.path, idempotency_key)
        except BaseException:
            self._spool.undo(job.id)
            raise

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
        same = self._jobs.same_request(transaction, job.uploaded_by, idempotency_key) if idempotency_key else None
        earlier = same or self._jobs.live(transaction, job.skill_id, job.version)
        if earlier is None:
            return None
        if (earlier.uploaded_by, earlier.checksum, earlier.skill_id) == (job.uploaded_by, job.checksum, job.skill_id):
            return earlier
        if same:
            raise conflict("The Idempotency-Key was used for another package")
        raise conflict(f"Version {job.version} of skill '{job.skill_id}' is being published by another request")

    def _check_free(self, transaction: Transaction, job: Job) -> None:
        if self._published.has(transaction, job.skill_id, job.version):
            raise conflict(f"Skill '{job.skill_id}' has a version {job.version} already, and it is not used again")
        stored = self._catalog.find(transaction, job.skill_id)
        if stored and not transaction.read("select 1 from published where skill_id = ? limit 1", (job.skill_id,)):
            raise conflict(f"Skill '{job.skill_id}' exists already and was not published")


def remove_unfinished(folder: Path) -> None:
    """Remove uploads and unpacked packages that a crash has cut short; call before anything is received."""
    for left in folder.glob(f"{TEMPORARY_PREFIX}*"):
        left.unlink(missing_ok=True)
    for left in folder.glob(f"{UNPACKED_PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True)


def _scope(said: Peek, caller: Principal) -> str:
    """Return the scope a package is published to (*Authentication*, rules 7 and 8). Raises FORBIDDEN."""
    if includes(caller.role, "admin") and (said.scope or caller.scope):
        return said.scope or str(caller.scope)
    if caller.scope is None:
        raise forbidden("Publishing needs a scope, and this credential has none")
    if said.scope not in (None, caller.scope):
        raise forbidden(f"The package is of the scope '{said.scope}'; yours is '{caller.scope}'")
    return caller.scope


def _check_names(scope: str, name: str) -> None:
    if scope in RESERVED_SCOPES:
        raise validation_error(FieldError("scope", f"'{scope}' is reserved"))
    if name in RESERVED_IDS:
        raise validation_error(FieldError("name", f"'{name}' is reserved"))
