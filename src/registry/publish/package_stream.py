"""Reads the package of a published version from the store, and verifies its digest on the way."""

import hashlib
import io
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from registry.blobs import BlobMissing, BlobStore, BlobUnavailable
from registry.blobs.store import chunks
from registry.errors import RegistryError, service_unavailable
from registry.publish.published_version import PublishedVersion

_log = logging.getLogger("registry.publish")

DAMAGED_SECONDS = 3600
"""When a caller may try again to read a damaged package: an operator has to restore it."""


class PackageStream(io.BufferedIOBase):
    """Reads a package from begin to end. Its last bytes are returned only if the digest of all is right.

    A package in a folder can be verified first, and is then a file that can be read in any order.
    Raises SERVICE_UNAVAILABLE.
    """

    def __init__(self, version: PublishedVersion, store: BlobStore) -> None:
        self._version = version
        self._left = version.size
        self._digest = hashlib.sha256()
        self._is_verified = False
        with store_faults(version), ExitStack() as opened:
            self._stored = opened.enter_context(store.open(version.key))
            self._opened = opened.pop_all()

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most `size` bytes; empty at the end. Raises SERVICE_UNAVAILABLE."""
        size = self._version.size if size is None or size < 0 else size
        if self._is_verified:
            return self._stored.read(size)
        if not self._left:
            return b""
        with store_faults(self._version):
            chunk = self._stored.read(min(size, self._left))
            self._digest.update(chunk)
            self._left -= len(chunk)
            if not chunk or not self._left:
                self._check()
        return chunk

    def _check(self) -> None:
        self._digest.update(self._stored.read(1))  # a longer package has another digest
        actual = f"sha256:{self._digest.hexdigest()}"
        if self._left or actual != self._version.checksum:
            raise _damaged(self._version, actual)

    def verify_if_seekable(self) -> None:
        """Read the package once and go back to its begin, if the store allows that. Raises SERVICE_UNAVAILABLE."""
        if isinstance(self._stored, io.BufferedIOBase) and self._stored.seekable():
            for _ in chunks(self):
                pass
            self._stored.seek(0)
            self._is_verified = True

    def seekable(self) -> bool:
        """Return whether the package is verified and can be read in any order."""
        return self._is_verified

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move in a verified package, and return the new position."""
        if not (self._is_verified and isinstance(self._stored, io.BufferedIOBase)):
            raise io.UnsupportedOperation("seek")
        return self._stored.seek(offset, whence)

    def tell(self) -> int:
        """Return the position in a verified package."""
        return self.seek(0, io.SEEK_CUR)

    def readable(self) -> bool:
        """Return true."""
        return True

    def close(self) -> None:
        """Close the package in the store."""
        self._opened.close()
        super().close()


@contextmanager
def store_faults(version: PublishedVersion) -> Iterator[None]:
    """Log what the store raises, and raise SERVICE_UNAVAILABLE instead."""
    try:
        yield
    except BlobMissing:
        raise _missing(version) from None
    except BlobUnavailable as error:
        _log.warning("a package cannot be read: %s", error)
        raise service_unavailable("Packages cannot be read at the moment") from None


def _missing(version: PublishedVersion) -> RegistryError:
    _log.error(
        "the package of %s %s is missing from the store: restore %s from a backup or a mirror, or revoke the version",
        version.skill_id,
        version.version,
        version.key,
    )
    message = (
        "The package is missing from the store and cannot be downloaded: the operator of the registry has to restore "
        "it from a backup or a mirror, or to revoke the version"
    )
    return service_unavailable(message, DAMAGED_SECONDS)


def _damaged(version: PublishedVersion, actual: str) -> RegistryError:
    _log.error(
        "the package of %s %s is damaged: the store has %s instead of %s",
        version.skill_id,
        version.version,
        actual,
        version.checksum,
    )
    message = "The stored package differs from the published one and cannot be downloaded"
    return service_unavailable(message, DAMAGED_SECONDS)
