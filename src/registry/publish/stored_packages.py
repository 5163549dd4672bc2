"""Reads published packages from the store, where they are. No caller gets a whole package with a wrong digest."""

import io
import logging
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from registry.blobs import BlobStore, configured_store
from registry.blobs.store import chunks
from registry.config.settings import Settings
from registry.errors import conflict, service_unavailable
from registry.packages.limits import PackageLimits
from registry.packages.package import copy_file
from registry.packages.refusal import PackageRefused
from registry.publish.package_stream import DAMAGED_SECONDS, PackageStream
from registry.publish.published_version import PublishedVersion

_log = logging.getLogger("registry.publish")

FOLDER = "publish"
"""The folder of the data directory for uploads until their jobs end, and for files of packages while they are read."""

_BUFFERED_BYTES = 1 << 20
"""Up to this size, a package is verified in memory before the first byte is sent."""


class StoredPackages:
    """The packages of published versions.

    Args:
        store: Has the zips.
        folder: Holds files of packages while they are read.
    """

    def __init__(self, store: BlobStore, folder: Path) -> None:
        self.store = store
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @classmethod
    def configured(cls, settings: Settings) -> "StoredPackages":
        """Return the packages in the configured store. Raises BlobUnavailable if it cannot be opened."""
        return cls(configured_store(settings), settings.data_dir / FOLDER)

    def stream(self, version: PublishedVersion) -> BinaryIO:
        """Return the zip of a version, to be read once. No caller gets all bytes unless their digest is right.

        A file of a folder, and a package of at most 1 MiB, is verified before this returns. A larger package of a
        bucket is verified while it is read: the read that would return its last bytes raises SERVICE_UNAVAILABLE
        instead.

        Raises CONFLICT if it is revoked, SERVICE_UNAVAILABLE if the store is unavailable or has other bytes.
        """
        if version.state == "revoked":
            raise conflict(
                f"Version {version.version} of skill '{version.skill_id}' is revoked and cannot be downloaded"
            )
        with ExitStack() as undo:
            package = undo.enter_context(PackageStream(version, self.store))
            if version.size <= _BUFFERED_BYTES:
                return io.BytesIO(b"".join(chunks(package)))
            package.verify_if_seekable()
            undo.pop_all()
        return cast(BinaryIO, package)

    def open(self, version: PublishedVersion) -> BinaryIO:
        """Return the zip of a version with its digest verified, to be read in any order.

        It is a temporary file where the store can only be read from begin to end. Raises what `stream` raises.
        """
        package = self.stream(version)
        if package.seekable():
            return package
        with package, ExitStack() as undo:
            copy = undo.enter_context(self._temporary())
            shutil.copyfileobj(package, copy)
            copy.seek(0)
            undo.pop_all()
        return copy

    def open_file(self, version: PublishedVersion, path: str) -> BinaryIO:
        """Return a file of a version's package as a temporary file. `path` is one of the files of its record.

        Raises what `open` raises, and SERVICE_UNAVAILABLE if this release refuses the package.
        """
        with ExitStack() as undo:
            copy = undo.enter_context(self._temporary())
            try:
                with self.open(version) as package:
                    copy_file(package, path, copy, PackageLimits(archive_bytes=version.size))
            except PackageRefused as refused:
                _log.warning("the package of %s %s cannot be read: %s", version.skill_id, version.version, refused)
                message = "The files of the stored package cannot be read"
                raise service_unavailable(message, DAMAGED_SECONDS) from None
            copy.seek(0)
            undo.pop_all()
        return copy

    def _temporary(self) -> BinaryIO:
        return cast(BinaryIO, tempfile.SpooledTemporaryFile(_BUFFERED_BYTES, dir=str(self._folder)))

    def copy(self, version: PublishedVersion, into: BinaryIO) -> None:
        """Write the zip of a version, whatever its state, into a file. Raises SERVICE_UNAVAILABLE."""
        with PackageStream(version, self.store) as package:
            shutil.copyfileobj(package, into)
