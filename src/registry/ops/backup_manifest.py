"""The manifest of a backup: which catalog it holds, and the digest of every table. Backups are verified against it."""

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
from registry.ops.backup_files import (
    MANIFEST,
    SUMS,
    NoBackup,
    digest_of,
    file_names,
    read_file,
    sum_line,
    wrong_files,
)
from registry.parsing.json_document import JsonUnreadable, read_json


class BackupManifest(msgspec.Struct, kw_only=True):
    """What a backup holds. `catalog` is the id of the catalog, `tables` the state of the database that was copied.

    `files` is the number of files that SHA256SUMS lists besides the manifest, and `sums` the SHA-256 of those lines.
    Backups of earlier releases have neither.
    """

    created_at: str
    release: str
    database: Literal["sqlite", "postgresql"]
    catalog: str
    tables: list[TableDigest]
    files: int | None = None
    sums: str | None = None


def write_manifest(folder: Path, manifest: BackupManifest) -> None:
    """Write the manifest of a backup."""
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")


def write_sums(folder: Path) -> tuple[int, int]:
    """Write the checksums of all files, and complete the manifest; return the number of files and their total size.

    The manifest has the digest of the other lines, and the checksums have that of the manifest.
    """
    names = file_names(folder)
    lines = [sum_line(folder, name) for name in names if name != MANIFEST]
    manifest = read_manifest(folder)
    write_manifest(folder, msgspec.structs.replace(manifest, files=len(lines), sums=digest_of(lines)))
    text = "".join((*lines, sum_line(folder, MANIFEST)))
    (folder / SUMS).write_text(text, encoding="utf-8", errors="surrogateescape")
    return len(names), sum((folder / name).stat().st_size for name in names)


def read_manifest(folder: Path) -> BackupManifest:
    """Return the manifest of a backup. Raises NoBackup."""
    try:
        return read_json(read_file(folder, MANIFEST), BackupManifest)
    except FileNotFoundError:
        raise NoBackup(f"{folder} has no {MANIFEST}: it is not a backup, or an earlier release wrote it") from None
    except (JsonUnreadable, NotADirectoryError) as error:
        raise NoBackup(f"{folder / MANIFEST} cannot be read: {error}") from None


def verify(folder: Path) -> list[str]:
    """Return what is wrong with a backup: files that differ, are missing or not listed, damaged tables, other rows.

    Raises NoBackup, also for a list of files that leads out of the backup, and OSError.
    """
    manifest = read_manifest(folder)
    problems = list(wrong_files(folder, manifest.files, manifest.sums))
    database = folder / "data" / DATABASE_FILE
    if manifest.database == "sqlite" and not database.is_file():
        problems.append(f"file {database.relative_to(folder)}: it is missing")
    elif manifest.database == "sqlite":
        problems += [f"table {table.table}: it is damaged: {table.problem}" for table in damaged_tables(database)]
        problems += [] if problems else differences(manifest.tables, file_digests(database))
    return problems


def verify_restored(folder: Path, settings: Settings) -> list[str]:
    """Return how the database of the settings, restored and not used since, differs from a backup.

    Raises NoBackup, DatabaseError, OSError.
    """
    manifest = read_manifest(folder)
    if (path := settings.database_path) is not None or settings.database.url is None:
        path = path or settings.data_dir / DATABASE_FILE
        if not path.exists():
            raise NoBackup(f"there is no database at {path}: copy {DATABASE_FILE} from the backup's folder data there")
        return differences(manifest.tables, file_digests(path))
    with closing(open_url(settings.database.url, read_only=True)) as database:
        return differences(manifest.tables, table_digests(database.read, is_sqlite=False))


def remove_older(target: Path, keep: int) -> list[str]:
    """Remove the oldest backups of the catalog of `target` beside it, so that `keep` remain; return their names."""
    catalog = read_manifest(target).catalog
    others = sorted(_backups_of(catalog, target), key=lambda backup: backup[0], reverse=True)
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
