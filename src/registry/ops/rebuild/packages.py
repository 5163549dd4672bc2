"""Reads packages from the store again, by the digests that the log has of them."""

import hashlib
import tempfile
from pathlib import Path

from registry.blobs import BlobMissing, BlobStore
from registry.blobs.store import chunks
from registry.config.settings import Settings
from registry.inspection.inspector import Inspector, not_scanned
from registry.ops.rebuild.recorded import Release
from registry.packages.limits import PackageLimits
from registry.packages.refusal import PackageRefused
from registry.packages.update_diff import Footprint
from registry.publish.inspected_version import inspected_version
from registry.publish.published_version import PublishedRecord, PublishedVersion

_MISSING = "The package of this version is missing."


class PackageUnusable(Exception):
    """The package of a version is missing, damaged, or not one that this release reads; the message says which."""


class Packages:
    """The packages in a store. `close` ends the process that inspects them."""

    def __init__(self, settings: Settings, store: BlobStore) -> None:
        self._store = store
        self._limits = PackageLimits(archive_bytes=settings.limits.upload_bytes)
        self._inspector = Inspector(settings.limits, children=1)

    def close(self) -> None:
        """End the process that inspects packages."""
        self._inspector.close()

    def read(self, release: Release, at: str) -> PublishedVersion:
        """Return a version as it was published at the time `at`.

        Raises PackageUnusable if its package is missing, or not the one that the log names; BlobUnavailable, OSError.
        """
        with tempfile.TemporaryDirectory(prefix="skill-registry-rebuild-") as folder:
            package = Path(folder) / "package.zip"
            size = self._copy(release, package)
            try:
                inspected = self._inspector.read_package(package, Path(folder) / "package", self._limits)
            except PackageRefused as refused:
                raise PackageUnusable(f"this release refuses its package: {refused}") from None
            if (actual := inspected.package.digest) != release.digest:
                raise PackageUnusable(f"the files of its package have the digest {actual} instead of {release.digest}")
            names = (release.skill_id, release.version)
            return inspected_version(inspected, *names, checksum=release.sha256, size=size, at=at)

    def _copy(self, release: Release, into: Path) -> int:
        """Copy a package, and return its size in bytes. Raises PackageUnusable, BlobUnavailable."""
        digest, size = hashlib.sha256(), 0
        try:
            with self._store.open(_key(release)) as stored, into.open("xb") as copy:
                for chunk in chunks(stored):
                    digest.update(chunk)
                    copy.write(chunk)
                    size += len(chunk)
                    if size > self._limits.archive_bytes:
                        raise PackageUnusable(f"its package is larger than {self._limits.archive_bytes:,} bytes")
        except BlobMissing:
            raise PackageUnusable("its package is not in the store") from None
        if (actual := f"sha256:{digest.hexdigest()}") != release.sha256:
            raise PackageUnusable(f"its package is {actual} instead of {release.sha256}")
        return size


def without_package(release: Release, size: int, at: str) -> PublishedVersion:
    """Return a version of which nothing is left but its number and its digests, so that it cannot be reused."""
    name = release.skill_id.partition("/")[2]
    record = PublishedRecord(
        title=name,
        description=_MISSING,
        author="",
        license=None,
        tags=[],
        capabilities=[],
        tree=release.digest,
        findings=not_scanned(PackageUnusable("not scanned: its package is missing")),
        files=[],
        footprint=Footprint([], {}),
    )
    text = f"---\nname: {name}\ndescription: {_MISSING}\n---\n"
    return PublishedVersion(
        skill_id=release.skill_id,
        version=release.version,
        checksum=release.sha256,
        size=size,
        published_at=at,
        record=record,
        skill_file=text,
    )


def _key(release: Release) -> str:
    return f"skills/{release.skill_id}-{release.version}.zip"
