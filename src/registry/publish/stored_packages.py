"""Reads published packages from the store. Nothing leaves it before the digest of the package is verified."""

import hashlib
import logging
import tempfile
from pathlib import Path
from typing import BinaryIO

from registry.blobs import BlobMissing, BlobStore, BlobUnavailable, configured_store
from registry.blobs.store import chunks
from registry.config.settings import Settings
from registry.errors import RegistryError, conflict, service_unavailable
from registry.packages.limits import PackageLimits
from registry.packages.package import copy_file
from registry.packages.refusal import PackageRefused
from registry.publish.published import PublishedVersion

_log = logging.getLogger("registry.publish")

FOLDER = "publish"
"""The folder of the data directory for uploads until their jobs end, and for packages while they are read."""


class StoredPackages:
    """The packages of published versions.

    Args:
        store: Has the zips.
        folder: Holds copies while they are read.
    """

    def __init__(self, store: BlobStore, folder: Path) -> None:
        self.store = store
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def configured(cls, settings: Settings) -> "StoredPackages":
        """Return the packages in the configured store. Raises BlobUnavailable if it cannot be opened."""
        return cls(configured_store(settings), settings.data_dir / FOLDER)

    def open(self, version: PublishedVersion) -> BinaryIO:
        """Return the zip of a version as a temporary file, with its digest verified.

        Raises CONFLICT if it is revoked, SERVICE_UNAVAILABLE if the store is unavailable or has other bytes.
        """
        if version.state == "revoked":
            raise conflict(
                f"Version {version.version} of skill '{version.skill_id}' is revoked and cannot be downloaded"
            )
        copy = self._temporary()
        try:
            self.copy(version, copy)
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return copy

    def open_file(self, version: PublishedVersion, path: str) -> BinaryIO:
        """Return a file of a version's package as a temporary file. `path` is one of the files of its record.

        Raises what `open` raises, and SERVICE_UNAVAILABLE if this release refuses the package.
        """
        copy = self._temporary()
        try:
            with self.open(version) as package:
                copy_file(package, path, copy, PackageLimits(archive_bytes=version.size))
        except PackageRefused as refused:
            copy.close()
            _log.warning("the package of %s %s cannot be read: %s", version.skill_id, version.version, refused)
            raise service_unavailable("The files of the stored package cannot be read", _DAMAGED_SECONDS) from None
        except BaseException:
            copy.close()
            raise
        copy.seek(0)
        return copy

    def _temporary(self) -> BinaryIO:
        file: BinaryIO = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - the caller closes it
        return file

    def copy(self, version: PublishedVersion, into: BinaryIO) -> None:
        """Write the zip of a version into a file and verify its digest. Raises SERVICE_UNAVAILABLE."""
        digest = hashlib.sha256()
        try:
            with self.store.open(version.key) as stored:
                for chunk in chunks(stored):
                    digest.update(chunk)
                    into.write(chunk)
        except BlobMissing:
            raise _damaged(version, "nothing") from None
        except BlobUnavailable as error:
            _log.warning("a package cannot be read: %s", error)
            raise service_unavailable("Packages cannot be read at the moment") from None
        if (checksum := f"sha256:{digest.hexdigest()}") != version.checksum:
            raise _damaged(version, checksum)


_DAMAGED_SECONDS = 3600


def _damaged(version: PublishedVersion, actual: str) -> RegistryError:
    _log.error(
        "the package of %s %s is damaged: the store has %s instead of %s",
        version.skill_id,
        version.version,
        actual,
        version.checksum,
    )
    message = "The stored package differs from the published one and cannot be downloaded"
    return service_unavailable(message, _DAMAGED_SECONDS)
