"""The files of a backup and their checksums. Nothing outside of the backup is read, and nothing that is no file."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import islice
from pathlib import Path, PurePosixPath

MANIFEST = "backup.json"
SUMS = "SHA256SUMS"
"""The file with the checksums of a backup, for `sha256sum --check`."""

_SHOWN = 5
_MAX_BYTES = 1 << 30
"""The maximum size of the manifest and of the checksums: about ten million files."""

_ESCAPES = {"\\": "\\", "n": "\n", "r": "\r"}


class NoBackup(Exception):
    """The folder is not a backup that can be verified; the message says why."""


def read_file(folder: Path, name: str) -> bytes:
    """Return the bytes of the manifest or the checksums. Raises NoBackup, OSError."""
    with _opened(folder, name) as file:
        if os.fstat(file.fileno()).st_size > _MAX_BYTES:
            raise NoBackup(f"{folder / name} is larger than {_MAX_BYTES:,} bytes")
        return file.read(_MAX_BYTES)


def sum_line(folder: Path, name: str) -> str:
    """Return a line in the format of `sha256sum`, where a leading backslash marks an escaped name."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == name else chr(92)}{_digest(folder, name)}  {escaped}\n"


def digest_of(lines: Sequence[str]) -> str:
    """Return the SHA-256 of lines of checksums."""
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def file_names(folder: Path) -> list[str]:
    """Return the files of a backup, except the checksums, in order. Links of skills are not among them.

    Raises NoBackup for devices, pipes and sockets.
    """
    names = []
    for parent, _, files in os.walk(folder):
        for file in files:
            path = Path(parent, file)
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                names.append(str(path.relative_to(folder)))
            elif not stat.S_ISLNK(mode):
                raise NoBackup(f"{path} is neither a file nor a folder: this is no backup")
    return sorted(name for name in names if name != SUMS)


def wrong_files(folder: Path, count: int | None, digest: str | None) -> Iterator[str]:
    """Yield what is wrong with the files of a backup, in the order of the checksums, at most a few of each kind.

    `count` and `digest` are the number and the SHA-256 of the lines of the checksums that are not of the manifest, as
    the manifest has them. Raises NoBackup before any file is read if a name is not one of a file in the backup.
    """
    text = read_file(folder, SUMS).decode("utf-8", "surrogateescape")
    lines = [f"{line}\n" for line in text.split("\n") if line]
    listed = dict(map(_parsed, lines))
    for name in listed:
        _check_name(folder, name)
    present = file_names(folder)
    others = [line for line in lines if _parsed(line)[0] != MANIFEST]
    if digest is not None and (len(others) != count or digest_of(others) != digest):
        yield f"file {SUMS}: it is not the one that the backup was written with"
    yield from _some(_faults(folder, listed), "more files differ")
    unlisted = (f"file {name}: {SUMS} does not list it" for name in present if name not in listed)
    yield from _some(unlisted, f"{SUMS} does not list more files")


def _faults(folder: Path, listed: Mapping[str, str]) -> Iterator[str]:
    for name, expected in listed.items():
        try:
            actual = _digest(folder, name)
        except OSError as error:
            yield f"file {name}: {error.strerror}"
            continue
        if actual != expected:
            yield f"file {name}: its bytes have changed"


def _some(problems: Iterator[str], rest: str) -> Iterator[str]:
    yield from islice(problems, _SHOWN)
    if next(problems, None) is not None:
        yield rest


def _parsed(line: str) -> tuple[str, str]:
    """Return the name and the digest of a line of checksums."""
    digest, _, name = line.removesuffix("\n").removeprefix("\\").partition("  ")
    if line.startswith("\\"):
        name = re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), name)
    return name, digest


def _check_name(folder: Path, name: str) -> None:
    path = PurePosixPath(name)
    leads_out = not name or "\0" in name or path.is_absolute() or ".." in path.parts
    if not leads_out:
        leads_out = not (folder / name).parent.resolve().is_relative_to(folder.resolve())
    if leads_out:
        raise NoBackup(f"{SUMS} names {name!r}, which is no file of the backup: nothing was read")


def _digest(folder: Path, name: str) -> str:
    with _opened(folder, name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _opened(folder: Path, name: str) -> BufferedReader:
    """Open a file without waiting for a pipe or following a link. Raises NoBackup for what is no file, OSError."""
    descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NoBackup(f"{folder / name} is no file: this is no backup")
    return os.fdopen(descriptor, "rb")
