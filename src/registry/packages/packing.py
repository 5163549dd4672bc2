"""Writes packages: the same files become a zip of the same bytes, wherever they come from."""

import stat
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.source_folder import LeavesOut, SourceFolder
from registry.packages.tree import PackageEntry, check_tree

_EARLIEST = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_LEVEL = 9


class FilePart(NamedTuple):
    """A file within another one: its path in the package, and where its bytes are."""

    path: str
    start: int
    size: int


def pack(
    folder: Path, file: BinaryIO, limits: PackageLimits = DEFAULT_LIMITS, leaves_out: LeavesOut | None = None
) -> None:
    """Write the files of a folder into a zip, in order of name, with fixed times and the modes 0644 or 0755.

    The same tree gives the same bytes with the same zlib. Folders have no entries. `file` is writable and seekable.
    `leaves_out` says which paths are no part of the package.
    Raises PackageRefused if the folder breaks a rule of packages, and OSError.
    """
    source = SourceFolder(folder, limits, leaves_out)
    with zipfile.ZipFile(file, "w") as archive:
        source.for_each(lambda entry, chunks: _write(archive, entry, chunks))


def pack_files(files: Iterable[tuple[PackageEntry, bytes]], file: BinaryIO) -> None:
    """Write checked files into a zip, in the given order, as `pack` does."""
    with zipfile.ZipFile(file, "w") as archive:
        for entry, data in files:
            _write(archive, entry, iter((data,)))


def pack_parts(source: BinaryIO, parts: Sequence[FilePart], file: BinaryIO, limits: PackageLimits) -> None:
    """Write the parts of `source` into a zip, in order of path, as `pack` does. No file is executable.

    Raises PackageRefused if the paths or sizes break a rule of packages.
    """
    entries = {part: PackageEntry(part.path, stat.S_IFREG | 0o644, part.size) for part in sorted(parts)}
    check_tree(entries.values(), limits)
    pack_files(((entry, _bytes_of(source, part)) for part, entry in entries.items()), file)


def _bytes_of(source: BinaryIO, part: FilePart) -> bytes:
    source.seek(part.start)
    return source.read(part.size)


def _write(archive: zipfile.ZipFile, entry: PackageEntry, chunks: Iterator[bytes]) -> None:
    if not entry.is_folder:
        archive.writestr(_info(entry), b"".join(chunks), zipfile.ZIP_DEFLATED, _LEVEL)


def _info(entry: PackageEntry) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(entry.name, _EARLIEST)
    info.create_system = _UNIX
    info.external_attr = (stat.S_IFREG | (0o755 if entry.executable else 0o644)) << 16
    return info
