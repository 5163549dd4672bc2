"""Carries a mirror to a machine without a network: a folder with all that is kept, every byte of it checked on arrival.

The folder has the files of a mirror: the entries of the log and its signed state, index files, and packages by digest.
Beside them, `mirror.json` names the registry.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from registry.mirrors.checked_files import FileChanged, read_checked, write_checked
from registry.mirrors.kept_files import KeptFiles
from registry.mirrors.kept_log import KeptLog, LogDamaged
from registry.mirrors.mirror import Mirror
from registry.runtime.atomic_files import sync_folder, temporary_path
from registry.sources.log_monitor import LogRefused
from registry.transparency.checkpoint import Verifier
from search import integrity

_MANIFEST = "mirror.json"
_FORMAT = 1
_CHUNK = 1 << 20

Progress = Callable[[int, int], None]
"""Hears how many packages are done, and of how many."""


class TransferRefused(Exception):
    """A folder is not a mirror that may be taken over, or none can be written there; the message says why."""


class Carried(NamedTuple):
    """What a folder has: the number of entries of the log, of skills and of packages, and the bytes of the packages."""

    entries: int
    skills: int
    packages: int
    bytes: int


class _Manifest(msgspec.Struct, kw_only=True):
    format: int
    url: str


def write(mirror: Mirror, target: Path, progress: Progress) -> Carried:
    """Write all that is kept into a new folder, which appears whole. Revoked packages are left out.

    Raises TransferRefused if the folder exists or nothing is kept, OSError.
    """
    if target.exists():
        raise TransferRefused(f"{target} exists already: name a new folder")
    try:
        log = mirror.kept_log()
        if log.seen is None:
            raise TransferRefused("nothing is kept yet: run the command with --all first")
        temporary = temporary_path(target.absolute().parent, "mirror-")
        temporary.mkdir()
        try:
            carried = _write(mirror, log, temporary, progress)
            temporary.rename(target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except (LogDamaged, LogRefused) as error:
        raise TransferRefused(f"{error}: run the command with --all, which fetches it again") from None
    sync_folder(target.absolute().parent)
    return carried


def _write(mirror: Mirror, log: KeptLog, folder: Path, progress: Progress) -> Carried:
    files, mirrored = KeptFiles(folder), mirror.files
    note, size = log.signed()
    key = "" if log.seen is None else log.seen.key
    KeptLog(folder).extend(Verifier(key), note, log.entries(0, size))
    skills = packages = written = 0
    for skill_id in log.skills():
        if (body := mirrored.index(skill_id)) is not None:
            files.put_index(skill_id, body)
            skills += 1
    releases = list(log.releases())
    for count, (skill_id, version, logged) in enumerate(releases):
        progress(count, len(releases))
        package = None if log.is_revoked(skill_id, version) else mirrored.package(logged.checksum)
        if package is not None:
            with package.file, files.adding(logged.checksum) as path, path.open("xb") as copy:
                shutil.copyfileobj(package.file, copy)
            packages, written = packages + 1, written + package.size
    progress(len(releases), len(releases))
    write_checked(folder / _MANIFEST, msgspec.json.encode(_Manifest(format=_FORMAT, url=mirror.url)))
    return Carried(size, skills, packages, written)


def take(mirror: Mirror, folder: Path, key: str | None, progress: Progress) -> Carried:
    """Check a folder that `write` has made, and keep what it has.

    `key` is the key that the log must have; without it, the first one is trusted. Nothing is kept unless every file is
    what it should be. Raises TransferRefused, MirrorsFull, OSError.
    """
    try:
        names = set(_names(folder))
        log = _checked_log(mirror, folder, key)
        skills, packages = _checked_files(mirror, log, folder, names)
        mirror.adopt(log)
        for skill_id in skills:
            mirror.take_index(skill_id, _index(mirror, log, folder, skill_id))
    except (LogDamaged, LogRefused, FileChanged, msgspec.DecodeError) as error:
        raise TransferRefused(f"{folder.name} is refused: {error}") from None
    written = 0
    for count, (checksum, path) in enumerate(packages.items()):
        progress(count, len(packages))
        written += _keep(mirror, checksum, path)
    progress(len(packages), len(packages))
    return Carried(log.size, len(skills), len(packages), written)


def _names(folder: Path) -> Iterator[str]:
    """Yield the paths of the files below a folder. Raises TransferRefused for anything but files and folders."""
    if not folder.is_dir():
        raise TransferRefused(f"{folder} is no folder")
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(parent) / name
            if not stat.S_ISREG(path.lstat().st_mode) and not stat.S_ISDIR(path.lstat().st_mode):
                raise TransferRefused(f"{path.relative_to(folder)} is neither a file nor a folder")
        yield from ((Path(parent) / name).relative_to(folder).as_posix() for name in names)


def _checked_log(mirror: Mirror, folder: Path, key: str | None) -> KeptLog:
    """Return the log in a folder, which is that of the registry. Raises as `take`."""
    body = read_checked(folder / _MANIFEST)
    if body is None:
        raise TransferRefused(f"{folder.name} has no {_MANIFEST}: it was not written by 'mirror --export'")
    manifest = msgspec.json.decode(body, type=_Manifest)
    if manifest.format != _FORMAT:
        raise TransferRefused(f"{folder.name} has the format {manifest.format}, and this release knows {_FORMAT}")
    if manifest.url != mirror.url:
        raise TransferRefused(f"{folder.name} is of {manifest.url}, and the source {mirror.name} of {mirror.url}")
    log = KeptLog.read(folder)
    if log.seen is None:
        raise TransferRefused(f"{folder.name} has no log")
    if key is not None and log.seen.key != key.strip():
        raise TransferRefused(f"the log in {folder.name} has the key {log.seen.key}, not {key.strip()}")
    return log


def _checked_files(mirror: Mirror, log: KeptLog, folder: Path, names: set[str]) -> tuple[list[str], dict[str, Path]]:
    """Return the skills with index files, and the packages by checksum. Raises as `take`, for an unknown file too."""
    left = names - {_MANIFEST, *log.file_names()}
    skills = [skill_id for skill_id in log.skills() if KeptFiles.index_name(skill_id) in left]
    for skill_id in skills:
        _index(mirror, log, folder, skill_id)
        left.discard(KeptFiles.index_name(skill_id))
    packages: dict[str, Path] = {}
    for _, _, logged in log.releases():
        name = KeptFiles.package_name(logged.checksum)
        if name in left:
            if _digest(folder / name) != logged.checksum:
                raise TransferRefused(f"{folder.name} is refused: the package {name} was changed")
            packages[logged.checksum] = folder / name
            left.discard(name)
    if left:
        raise TransferRefused(f"{folder.name} is refused: it has {min(left)}, which its log does not name")
    return skills, packages


def _index(mirror: Mirror, log: KeptLog, folder: Path, skill_id: str) -> bytes:
    """Return an index file of a folder, which lists what its log has. Raises FileChanged, LogRefused, OSError."""
    body = read_checked(folder / KeptFiles.index_name(skill_id))
    if body is None:
        raise FileChanged(f"the index file of {skill_id} is gone")
    mirror.check_index(log, skill_id, body)
    return body


def _digest(path: Path) -> str:
    return f"sha256:{integrity.sha256(path)}"


def _keep(mirror: Mirror, checksum: str, path: Path) -> int:
    """Keep a package that was checked, unless it is kept. Return its size. Raises TransferRefused, MirrorsFull."""
    size = path.stat().st_size
    if not mirror.has(checksum):
        try:
            with mirror.keeping.room(size), mirror.files.adding(checksum) as temporary:
                shutil.copyfile(path, temporary)
                if _digest(temporary) != checksum:
                    raise TransferRefused(f"{path.name} was changed while it was read")
        except OSError as error:
            raise TransferRefused(f"{path.name} cannot be kept: {error.strerror}; run the command again") from None
    return size
