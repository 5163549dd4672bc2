"""Packages written: a folder as a zip whose bytes depend on its files alone."""

import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.source_folder import SourceFolder
from registry.packages.tree import PackageEntry

_EARLIEST = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_LEVEL = 9


def pack(folder: Path, file: BinaryIO, limits: PackageLimits = DEFAULT_LIMITS) -> None:
    """Write a folder's files into a zip, in order of name in each folder, with fixed times and modes of 0644 or 0755.

    The same tree gives the same bytes with the same zlib. Folders have no entries of their own. `file` is open for
    writing and seekable. Raises PackageRefused where the folder breaks a rule of packages, OSError.
    """
    source = SourceFolder(folder, limits)
    with zipfile.ZipFile(file, "w") as archive:
        source.each(lambda entry, chunks: _write(archive, entry, chunks))


def _write(archive: zipfile.ZipFile, entry: PackageEntry, chunks: Iterator[bytes]) -> None:
    if not entry.is_folder:
        archive.writestr(_info(entry), b"".join(chunks), zipfile.ZIP_DEFLATED, _LEVEL)


def _info(entry: PackageEntry) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(entry.name, _EARLIEST)
    info.create_system = _UNIX
    info.external_attr = (stat.S_IFREG | (0o755 if entry.executable else 0o644)) << 16
    return info
