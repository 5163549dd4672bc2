"""The files of a mirror: index files with the digest of their bytes, and packages by the digest of theirs.

Every read computes the digest again. A file with other bytes is removed and counts as missing. Files arrive whole, by a
rename, so that processes may share a folder and be killed at any time.
"""

import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from registry.mirrors.checked_files import FileChanged, read_checked, write_checked
from registry.runtime.atomic_files import TEMPORARY_PREFIX, sync_folder, temporary_path

_log = logging.getLogger("registry.mirrors")

_INDEX, _PACKAGES = "index", "packages"


class KeptPackage(NamedTuple):
    """A package that is open at its begin, with verified bytes, and its size."""

    file: BinaryIO
    size: int


class KeptFiles:
    """The index files and packages below `folder`. Methods raise OSError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def index(self, skill_id: str) -> bytes | None:
        """Return the index file of a skill, None if there is none."""
        path = self._folder / self.index_name(skill_id)
        try:
            return read_checked(path)
        except FileChanged:
            _log.warning("the kept index file of %s was changed: it is removed", skill_id)
            path.unlink(missing_ok=True)
            return None

    def put_index(self, skill_id: str, body: bytes) -> None:
        """Keep the index file of a skill."""
        path = self._folder / self.index_name(skill_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_checked(path, body)

    def has(self, checksum: str) -> bool:
        """Return whether there is a package with a checksum, whose bytes may be damaged."""
        return self._package(checksum).is_file()

    def package(self, checksum: str) -> KeptPackage | None:
        """Open the package with a checksum, None if there is none."""
        path = self._package(checksum)
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return None
        if f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" != checksum:
            file.close()
            _log.warning("the kept package %s has other bytes: it is removed", path.name)
            path.unlink(missing_ok=True)
            return None
        size = file.tell()
        file.seek(0)
        return KeptPackage(file, size)

    @contextmanager
    def adding(self, checksum: str) -> Iterator[Path]:
        """Yield the path for a new file, which the block writes and verifies. After it, the package is kept."""
        path = self._package(checksum)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_path(path.parent, "mirrored-")
        try:
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)

    def remove_package(self, checksum: str) -> None:
        """Remove the package with a checksum."""
        self._package(checksum).unlink(missing_ok=True)

    def remove_leftovers(self) -> None:
        """Remove the unfinished files of killed writers."""
        for leftover in self._folder.rglob(f"{TEMPORARY_PREFIX}*"):
            leftover.unlink(missing_ok=True)

    @staticmethod
    def index_name(skill_id: str) -> str:
        """Return the path of the index file of a skill below the folder."""
        return f"{_INDEX}/{skill_id}"

    @staticmethod
    def package_name(checksum: str) -> str:
        """Return the path of the package with a checksum below the folder."""
        name = checksum.removeprefix("sha256:")
        return f"{_PACKAGES}/{name[:2]}/{name}"

    def _package(self, checksum: str) -> Path:
        return self._folder / self.package_name(checksum)
