"""A cache of packages by digest, so that what was fetched before is not fetched again.

A package is a file whose name is the SHA-256 of its bytes. A tree is a short file whose name is the digest of the files
of a skill, and whose text is the name of the package that has them. Every read computes the digest again: a file with
other bytes is removed and counts as missing. Files arrive whole, by a rename, so that processes may share a cache and
be killed at any time.
"""

import hashlib
import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from registry.config.settings import Settings
from registry.packages.package import Package
from registry.packages.packing import pack
from registry.packages.refusal import PackageRefused
from registry.runtime.atomic_files import TEMPORARY_PREFIX, temporary_path
from search import integrity

_log = logging.getLogger("registry.install")

_PACKAGES, _TREES = "packages", "trees"
_ABANDONED_SECONDS = 3600.0
"""A temporary file that is older belongs to a process that was killed."""

_CHUNK = 1 << 20
_TREE_BYTES = 64


class CacheUsage(NamedTuple):
    """The number of packages in a cache, and the bytes of all its files."""

    packages: int
    bytes: int


class _CacheFile(NamedTuple):
    used_at: float
    bytes: int
    path: str


class PackageCache:
    """The packages in `folder`, at most `most_bytes` of them: those that were not used for longest go first.

    Only its owner can read it. A cache that cannot be read or written is an empty one.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self._lock = threading.Lock()
        self._bytes: int | None = None  # unknown until the first package is added

    @classmethod
    def configured(cls, settings: Settings) -> "PackageCache | None":
        """Return the cache of the settings, None if they turn it off or the service is a registry."""
        folder = settings.cache.dir
        if folder is None or settings.cache.bytes == 0 or settings.profile != "local":
            return None
        return cls(folder, settings.cache.bytes)

    def take(self, digest: str, into: Path) -> bool:
        """Write the package with a SHA-256 to a new file, and return whether the cache has it."""
        source = self._place(_PACKAGES, digest)
        try:
            with source.open("rb") as file, into.open("xb") as copy:
                actual = hashlib.sha256()
                while chunk := file.read(_CHUNK):
                    actual.update(chunk)
                    copy.write(chunk)
        except OSError:
            into.unlink(missing_ok=True)
            return False
        if actual.hexdigest() != source.name:
            into.unlink()
            _log.warning("the cache has other bytes as package %s: they are removed", source.name)
            _remove(source)
            return False
        _touch(source)
        return True

    def take_tree(self, digest: str, into: Path) -> bool:
        """Write a package with the files of a tree to a new file, and return whether the cache has one.

        The caller must compare the digest of its files, and call `discard_tree` for another one.
        """
        pointer = self._place(_TREES, digest)
        try:
            with pointer.open("rb") as file:
                package = file.read(_TREE_BYTES + 1).decode("ascii", "replace")
        except OSError:
            return False
        if len(package) != _TREE_BYTES or not set(package) <= set("0123456789abcdef"):
            _remove(pointer)
            return False
        _touch(pointer)
        return self.take(package, into)

    def discard(self, digest: str) -> None:
        """Remove a package."""
        _remove(self._place(_PACKAGES, digest))

    def discard_tree(self, digest: str) -> None:
        """Remove what the cache has as a tree."""
        _remove(self._place(_TREES, digest))

    def has(self, digest: str) -> bool:
        """Return whether there is a package with a SHA-256, whose bytes may be damaged."""
        return self._place(_PACKAGES, digest).is_file()

    def put(self, archive: Path, tree: str) -> None:
        """Add a package and the digest of its files. A failure is logged."""
        try:
            digest = integrity.sha256(archive)
            if not self.has(digest):
                self._add(_PACKAGES, digest, archive.read_bytes())
            if not self._place(_TREES, tree).is_file():
                self._add(_TREES, tree, digest.encode())
            self._make_room()
        except OSError as error:
            _log.warning("a package cannot be cached in %s: %s", self.folder, error.strerror)

    def put_folder(self, package: Package) -> None:
        """Add the files of a package that has no archive. A failure is logged."""
        try:
            with tempfile.TemporaryDirectory(prefix="skill-registry-cache-") as place:
                archive = Path(place) / "package.zip"
                with archive.open("xb") as file:
                    pack(package.folder, file)
                self.put(archive, package.digest)
        except (OSError, PackageRefused) as error:  # what may be installed may be too large to pack
            _log.info("a package cannot be cached: %s", error)

    def usage(self) -> CacheUsage:
        """Return how much is in the cache. Raises OSError."""
        files = list(self._files())
        packages = sum(f"/{_PACKAGES}/" in file.path for file in files)
        return CacheUsage(packages, sum(file.bytes for file in files))

    def clear(self) -> CacheUsage:
        """Remove everything, and return how much that was. Raises OSError."""
        usage = self.usage()
        for file in self._files():
            Path(file.path).unlink(missing_ok=True)
        self._bytes = None
        return usage

    def _place(self, kind: str, digest: str) -> Path:
        name = digest.removeprefix("sha256:")
        return self.folder / kind / name[:2] / name

    def _add(self, kind: str, digest: str, data: bytes) -> None:
        """Write a file whole or not at all. It is not synced to disk: a torn one has another digest."""
        place = self._place(kind, digest)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        temporary = temporary_path(place.parent)
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
                file.write(data)
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
        with self._lock:
            self._bytes = None if self._bytes is None else self._bytes + len(data)

    def _make_room(self) -> None:
        """Remove the files that were not used for longest, until the rest fits. Others may remove some meanwhile."""
        with self._lock:
            if self._bytes is not None and self._bytes <= self.most_bytes:
                return
            files = sorted(self._files())
            total = sum(file.bytes for file in files)
            abandoned = time.time() - _ABANDONED_SECONDS
            for file in files:
                is_left = TEMPORARY_PREFIX in file.path and file.used_at < abandoned
                if total > self.most_bytes or is_left:
                    _remove(Path(file.path))
                    total -= file.bytes
            self._bytes = total

    def _files(self) -> Iterator[_CacheFile]:
        for kind in (_PACKAGES, _TREES):
            for parent, _, names in os.walk(self.folder / kind):
                for name in names:
                    try:
                        status = os.lstat(f"{parent}/{name}")
                    except FileNotFoundError:  # another process has removed it
                        continue
                    yield _CacheFile(status.st_mtime, status.st_size, f"{parent}/{name}")


def _touch(path: Path) -> None:
    """Note that a file was used now."""
    try:
        os.utime(path)
    except OSError:  # a cache that cannot be written still has its packages
        return


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("%s cannot be removed from the cache: %s", path.name, error.strerror)
