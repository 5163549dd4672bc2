"""An online backup of everything a service stores on its machine.

The order of the copies makes them consistent. Pending uploads and the database are copied as of one moment, while
writers wait. Packages and skills are copied after that: the service stores a package before the database records it,
and never changes or removes it; the next start scans the folders of local skills, which are their source of truth.
"""

import contextlib
import fcntl
import os
import shutil
import stat
from pathlib import Path
from typing import Literal, NamedTuple

from registry import __version__
from registry.auth.secret import SECRET_FILE
from registry.config.settings import DATABASE_FILE, Settings
from registry.database import open_database, sqlite
from registry.database.digests import TableDigest
from registry.database.integrity import damage_message
from registry.db import DatabaseUnusable, read_fact
from registry.domain.counts import counted
from registry.domain.models import now, timestamp
from registry.ops.backup_manifest import BackupManifest, remove_older, verify, write_manifest, write_sums
from registry.project.lock_file import LOCK_FILE
from registry.publish.stored_packages import FOLDER as UPLOADS
from registry.runtime.atomic_files import TEMPORARY_PREFIX, sync_folder, temporary_path
from registry.skill_folder import find_skill_folders, tree_digest
from registry.transparency.checkpoint import KEY_FILE

DUMP = "catalog.dump"
"""The dump of a PostgreSQL catalog, for `pg_restore`."""

_KIND = "backup-"
_MAX_TRIES = 5


class BackupFailed(Exception):
    """The backup was not created; the message says why."""


class BackedUp(NamedTuple):
    """The content of a backup. `bytes` is the size of all files, `removed` are the older backups that it replaces.

    `has_database` is false for a PostgreSQL catalog, unless it was dumped.
    """

    has_database: bool
    packages: int
    skills: int
    files: int
    bytes: int
    removed: list[str]


def backup(settings: Settings, target: Path, *, dump: bool = False, keep: int | None = None) -> BackedUp:
    """Write a backup to `target`, a new folder, which appears only when it is complete.

    `dump` adds a dump of a PostgreSQL catalog. With `keep`, the new backup is verified, and then older ones of this
    catalog in the same folder are removed, so that so many remain.

    It contains `data` (the data directory), `packages` (`blobs.dir`), `skills` (the skills directory) and `project`
    (the manifest and the lock). Raises BackupFailed, DatabaseError, OSError.
    """
    if os.path.lexists(target):
        raise BackupFailed(f"{target} already exists: choose a new folder for the backup")
    _remove_killed(target.parent)
    temporary = temporary_path(target.parent, _KIND)
    temporary.mkdir(mode=0o700)
    held = _held(temporary)
    try:
        summary = _Backup(settings, temporary, dump=dump).write()
        if keep and (problems := verify(temporary)):
            raise BackupFailed(f"the new backup is not sound: {'; '.join(problems)}")
        os.sync()  # all content must be on disk before the final name
        temporary.rename(target)
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    finally:
        if held is not None:
            os.close(held)
    return summary._replace(removed=remove_older(target, keep)) if keep else summary


def _held(folder: Path) -> int | None:
    """Lock a folder for this process and return its descriptor, None if another process has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_killed(parent: Path) -> None:
    """Remove the unfinished backups of killed commands, which hold secrets. Those of running commands are locked."""
    for folder in parent.glob(f"{TEMPORARY_PREFIX}{_KIND}*"):
        with contextlib.suppress(OSError):
            if (held := _held(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(held)


class _Backup:
    def __init__(self, settings: Settings, target: Path, *, dump: bool) -> None:
        self._dump = dump
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
        self._refuse_lost(skills)
        self._copy_project()
        files, size = write_sums(self._target)
        return BackedUp(has_database, packages, skills, files, size, [])

    def _copy_database(self) -> bool:
        path = self._settings.database_path
        if path is not None and not path.is_file():
            raise BackupFailed(f"{path} does not exist: set --data-dir to the data directory of the service")
        with _PendingUploads(self._settings.data_dir / UPLOADS) as uploads:
            if path is not None:
                copy = self._data / DATABASE_FILE
                tables = sqlite.backup(path, copy, uploads.hold)
                self._write_manifest("sqlite", sqlite.catalog_id(copy), tables)
            else:
                uploads.hold()
                self._digest_postgres()
            uploads.copy_to(self._data / UPLOADS)
        return path is not None or self._dump

    def _digest_postgres(self) -> None:
        """Write the digests of a PostgreSQL catalog, and its dump in the same state."""
        # Needs psycopg, which is an extra.
        from registry.database.postgres import PostgresDatabase  # noqa: PLC0415
        from registry.database.postgres_snapshot import DumpFailed, dump, snapshot  # noqa: PLC0415

        url = self._settings.database.url
        with contextlib.closing(open_database(self._settings)) as database:
            if url is None or not isinstance(database, PostgresDatabase):
                raise BackupFailed("the database is neither SQLite nor PostgreSQL")
            if damaged := database.damaged_tables():
                raise DatabaseUnusable(damage_message(damaged))
            with snapshot(database) as state:
                if self._dump:
                    try:
                        dump(url.reveal(), state.name, self._data / DUMP)
                    except DumpFailed as error:
                        raise BackupFailed(str(error)) from None
            self._write_manifest("postgresql", str(read_fact(database, "catalog_id")), state.tables)

    def _write_manifest(self, kind: Literal["sqlite", "postgresql"], catalog: str, tables: list[TableDigest]) -> None:
        manifest = BackupManifest(
            created_at=timestamp(now()), release=__version__, database=kind, catalog=catalog, tables=tables
        )
        write_manifest(self._target, manifest)

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
            count += _copy_skill(folder, copies / folder.relative_to(root))
        return count

    def _refuse_lost(self, copied: int) -> None:
        """Raise BackupFailed if skills of the catalog have folders and none is copied: another folder is meant."""
        copy = self._data / DATABASE_FILE
        if not copied and copy.exists() and (skills := sqlite.installed_skills(copy)):
            root = self._settings.skills_dir
            raise BackupFailed(
                f"{root} has no skill, and the catalog has {counted(skills, 'skill')}: set --skills-dir as the service"
            )

    def _copy_project(self) -> None:
        manifest = self._settings.project.file
        for source in (manifest, manifest.with_name(LOCK_FILE)):
            if source.is_file():
                (self._target / "project").mkdir(exist_ok=True)
                shutil.copy2(source, self._target / "project" / source.name)


class _PendingUploads:
    """The uploads of unfinished jobs. A hard link keeps each one until it is copied."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links: dict[str, Path] = {}

    def __enter__(self) -> "_PendingUploads":
        return self

    def hold(self) -> None:
        for upload in self._folder.glob("[!.]*.zip"):
            link = temporary_path(self._folder, "backup-")
            with contextlib.suppress(FileNotFoundError):
                os.link(upload, link)
                self._links[upload.name] = link

    def copy_to(self, target: Path) -> None:
        target.mkdir()
        for name, link in self._links.items():
            shutil.copy2(link, target / name)

    def __exit__(self, *_: object) -> None:
        for link in self._links.values():
            link.unlink(missing_ok=True)


def _copy_skill(folder: Path, copy: Path) -> bool:
    """Copy a consistent state of a skill; return false if the skill is gone. Raises BackupFailed."""
    for _ in range(_MAX_TRIES):
        reason = "it keeps changing: stop whatever writes to it, and try again"
        try:
            before = tree_digest(folder)
            shutil.copytree(folder, copy, symlinks=True, ignore=_excluded)
            if tree_digest(folder) == before:
                return True
        except OSError as error:  # also for a file that was removed meanwhile
            reason = error.args[0][0][2] if isinstance(error, shutil.Error) else str(error.strerror)
        shutil.rmtree(copy, ignore_errors=True)
        if not folder.exists():
            return False
    raise BackupFailed(f"the skill {folder.name} cannot be copied: {reason}")


def _excluded(folder: str, names: list[str]) -> set[str]:
    """Return the names that are not part of a skill: git history, temporary files, devices and sockets."""
    return {
        name
        for name in names
        if name == ".git" or name.startswith(TEMPORARY_PREFIX) or not _is_copied(os.lstat(f"{folder}/{name}").st_mode)
    }


def _is_copied(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
