"""A backup of everything a service keeps on its machine, made while it runs.

What fits what is settled by the order. Uploads that wait and the database are taken at one moment, while writers wait.
Packages and skills are copied after it: packages are put into the store before the database tells of them, and are
never changed or removed; of local skills the folders are the truth, which the next start's scan reads.
"""

import contextlib
import hashlib
import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

from registry.auth.secret import SECRET_FILE
from registry.config.settings import DATABASE_FILE, Settings
from registry.database import sqlite
from registry.project.lock_file import LOCK_FILE
from registry.publish.service import FOLDER as UPLOADS
from registry.runtime.atomic_files import TEMPORARY_PREFIX, sync_folder, temporary_path
from registry.skill_folder import find_skill_folders, tree_digest
from registry.transparency.checkpoint import KEY_FILE

SUMS = "SHA256SUMS"
"""The list of a backup's files, which `sha256sum --check` reads."""

_TRIES = 5


class BackupFailed(Exception):
    """There is no backup; the message says why."""


class BackedUp(NamedTuple):
    """How much is in a backup. `bytes` counts all files; `has_database` is false where PostgreSQL has the catalog."""

    has_database: bool
    packages: int
    skills: int
    files: int
    bytes: int


def backup(settings: Settings, target: Path) -> BackedUp:
    """Write a backup to `target`, which must not exist; it is there whole or not at all.

    In it `data` is for the data directory, `packages` for `blobs.dir`, `skills` for the skills directory, `project` for
    the folder of the manifest. Raises BackupFailed, DatabaseError, OSError.
    """
    if os.path.lexists(target):
        raise BackupFailed(f"{target} exists already: a backup goes into a new folder")
    fresh = temporary_path(target.parent, "backup-")
    fresh.mkdir(mode=0o700)
    try:
        done = _Backup(settings, fresh).write()
        os.sync()  # everything in it, before its name says that it is whole
        fresh.rename(target)
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    return done


class _Backup:
    def __init__(self, settings: Settings, target: Path) -> None:
        self._settings = settings
        self._target = target
        self._data = target / "data"

    def write(self) -> BackedUp:
        self._data.mkdir()
        for name in (SECRET_FILE, KEY_FILE):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy2(self._settings.data_dir / name, self._data / name)
        has_database = self._copy_database()
        packages = self._copy_packages()
        skills = self._copy_skills()
        self._copy_project()
        files, size = _write_sums(self._target)
        return BackedUp(has_database, packages, skills, files, size)

    def _copy_database(self) -> bool:
        path = self._settings.database_path
        if path is not None and not path.is_file():
            raise BackupFailed(f"{path} is not there: is this the data directory of a service that has run?")
        with _Waiting(self._settings.data_dir / UPLOADS) as waiting:
            if path is not None:
                sqlite.backup(path, self._data / DATABASE_FILE, waiting.hold)
            else:
                waiting.hold()
            waiting.copy_to(self._data / UPLOADS)
        return path is not None

    def _copy_packages(self) -> int:
        source = self._settings.blobs.dir
        if source is None or self._settings.s3.bucket is not None or not source.is_dir():
            return 0
        keys = sorted(path.relative_to(source) for path in source.rglob("*.zip") if path.is_file())
        for key in keys:
            (self._target / "packages" / key).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / key, self._target / "packages" / key)
        return len(keys)

    def _copy_skills(self) -> int:
        root, copies = self._settings.skills_dir, self._target / "skills"
        count = 0
        for folder in find_skill_folders(root):
            copy = copies / folder.relative_to(root)
            if copy.exists() or _copied(folder, copy):  # a skill within another is copied with it
                count += 1
        return count

    def _copy_project(self) -> None:
        manifest = self._settings.project.file
        for source in (manifest, manifest.with_name(LOCK_FILE)):
            if source.is_file():
                (self._target / "project").mkdir(exist_ok=True)
                shutil.copy2(source, self._target / "project" / source.name)


class _Waiting:
    """The uploads whose jobs have not ended, held by a second name while they are copied."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, Path] = {}

    def __enter__(self) -> "_Waiting":
        return self

    def hold(self) -> None:
        for upload in self._folder.glob("[!.]*.zip"):
            name = temporary_path(self._folder, "backup-")
            with contextlib.suppress(FileNotFoundError):
                os.link(upload, name)
                self._held[upload.name] = name

    def copy_to(self, target: Path) -> None:
        target.mkdir()
        for name, held in self._held.items():
            shutil.copy2(held, target / name)

    def __exit__(self, *_: object) -> None:
        for held in self._held.values():
            held.unlink(missing_ok=True)


def _copied(folder: Path, copy: Path) -> bool:
    """Copy a skill as it is at one moment; return whether it is there. Raises BackupFailed where that cannot be."""
    for _ in range(_TRIES):
        reason = "it changes all the time"
        try:
            before = tree_digest(folder)
            shutil.copytree(folder, copy, symlinks=True, ignore=_left_out)
            if tree_digest(folder) == before:
                return True
        except OSError as error:  # also of a file that went meanwhile
            reason = error.args[0][0][2] if isinstance(error, shutil.Error) else str(error.strerror)
        shutil.rmtree(copy, ignore_errors=True)
        if not folder.exists():
            return False
    raise BackupFailed(f"the skill {folder.name} cannot be copied: {reason}")


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Return what is no part of a skill: history, our unfinished files, devices and sockets."""
    return {
        name
        for name in names
        if name == ".git" or name.startswith(TEMPORARY_PREFIX) or not _is_kept(os.lstat(f"{folder}/{name}").st_mode)
    }


def _is_kept(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _write_sums(target: Path) -> tuple[int, int]:
    """List the digest of every file; return how many there are and their bytes."""
    files = sorted(path for path in target.rglob("*") if path.is_file() and not path.is_symlink())
    with (target / SUMS).open("w", encoding="utf-8", errors="surrogateescape") as sums:
        for path in files:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            sums.write(_sum_line(digest, str(path.relative_to(target))))
    return len(files), sum(path.stat().st_size for path in files)


def _sum_line(digest: str, name: str) -> str:
    """Return a line as `sha256sum` writes it: a backslash before it says that the name is escaped."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == name else chr(92)}{digest}  {escaped}\n"
