"""The manifest of a backup: which catalog it holds, and the digest of every table. Backups are verified against it."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from registry.config.settings import DATABASE_FILE, Settings
from registry.database import open_url
from registry.database.digests import TableDigest, differences, table_digests
from registry.database.integrity import damaged_tables
from registry.database.sqlite import file_digests
from registry.parsing.json_document import JsonUnreadable, read_json

MANIFEST = "backup.json"
SUMS = "SHA256SUMS"
"""The file with the checksums of a backup, for `sha256sum --check`."""

_SHOWN = 5


class BackupManifest(msgspec.Struct, kw_only=True):
    """What a backup holds. `catalog` is the id of the catalog, `tables` the state of the database that was copied."""

    created_at: str
    release: str
    database: Literal["sqlite", "postgresql"]
    catalog: str
    tables: list[TableDigest]


class NoBackup(Exception):
    """The folder is not a backup with a manifest; the message says why."""


def write_manifest(folder: Path, manifest: BackupManifest) -> None:
    """Write the manifest of a backup."""
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")


def read_manifest(folder: Path) -> BackupManifest:
    """Return the manifest of a backup. Raises NoBackup."""
    try:
        return read_json((folder / MANIFEST).read_bytes(), BackupManifest)
    except FileNotFoundError:
        raise NoBackup(f"{folder} has no {MANIFEST}: it is not a backup, or an earlier release wrote it") from None
    except (JsonUnreadable, NotADirectoryError) as error:
        raise NoBackup(f"{folder / MANIFEST} cannot be read: {error}") from None


def verify(folder: Path) -> list[str]:
    """Return what is wrong with a backup: files that differ, damaged tables, tables with other rows.

    Raises NoBackup, OSError.
    """
    manifest = read_manifest(folder)
    problems = list(_changed_files(folder))
    database = folder / "data" / DATABASE_FILE
    if manifest.database == "sqlite" and database.is_file():
        problems += [f"table {found.table}: it is damaged: {found.problem}" for found in damaged_tables(database)]
        problems += [] if problems else differences(manifest.tables, file_digests(database))
    return problems


def verify_restored(folder: Path, settings: Settings) -> list[str]:
    """Return how the database of the settings, restored and not used since, differs from a backup.

    Raises NoBackup, DatabaseError, OSError.
    """
    manifest = read_manifest(folder)
    if (path := settings.database_path) is not None or settings.database.url is None:
        return differences(manifest.tables, file_digests(path or settings.data_dir / DATABASE_FILE))
    with closing(open_url(settings.database.url, read_only=True)) as database:
        return differences(manifest.tables, table_digests(database.read, is_sqlite=False))


def remove_older(target: Path, keep: int) -> list[str]:
    """Remove the oldest backups of the catalog of `target` beside it, so that `keep` remain; return their names."""
    catalog = read_manifest(target).catalog
    others = sorted(_backups_of(catalog, target), key=lambda found: found[0], reverse=True)
    removed = [folder for _, folder in others[keep - 1 :]]
    for folder in removed:
        shutil.rmtree(folder)
    return sorted(folder.name for folder in removed)


def _backups_of(catalog: str, target: Path) -> Iterator[tuple[str, Path]]:
    for folder in target.parent.iterdir():
        if folder == target or folder.name.startswith(".") or folder.is_symlink():
            continue
        try:
            manifest = read_manifest(folder)
        except NoBackup:
            continue
        if manifest.catalog == catalog:
            yield manifest.created_at, folder


def _changed_files(folder: Path) -> Iterator[str]:
    lines = (folder / SUMS).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    faults = (fault for line in lines if (fault := _fault(folder, line)) is not None)
    for number, fault in enumerate(faults):
        if number == _SHOWN:
            yield "more files differ"
            return
        yield fault


def _fault(folder: Path, line: str) -> str | None:
    """Return what is wrong with the file of a line of `sha256sum`, where a leading backslash marks an escaped name."""
    digest, _, name = line.removeprefix("\\").partition("  ")
    if line.startswith("\\"):
        name = name.replace("\\\\", "\0").replace("\\n", "\n").replace("\\r", "\r").replace("\0", "\\")
    try:
        with (folder / name).open("rb") as file:
            actual = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"file {name}: {error.strerror}"
    return None if actual == digest else f"file {name}: its bytes have changed"
