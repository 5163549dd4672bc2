"""The file of a SQLite database: its header, its creation and its schema."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from registry.database.migrations import MIGRATIONS
from registry.db import DatabaseUnusable
from registry.runtime.atomic_files import temporary_path
from registry.runtime.data_dir import make_data_dir

APPLICATION_ID = 0x536B526A
"""Stored in the header of the file, so that the database of another program is recognized and not changed."""


@contextmanager
def write_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in a transaction that has the write lock from its start."""
    # Immediate, since a read transaction that becomes a write fails at once after another write.
    connection.execute("begin immediate")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate the schema, each migration with its number in one transaction. Raises DatabaseUnusable."""
    version = _schema_version(connection)
    if version > len(MIGRATIONS):
        raise DatabaseUnusable(
            f"the database was written by a newer release (schema {version}, this one knows {len(MIGRATIONS)}): "
            "upgrade skill-registry, or choose another data directory"
        )
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        with write_transaction(connection):
            if _schema_version(connection) >= number:  # another process was first
                continue
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"pragma user_version = {number}")


def _schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def create(path: Path) -> None:
    """Create the file under a temporary name and link it when complete, so a crash leaves no unusable file.

    If another process was first, its file stays, since it may contain data already.
    """
    make_data_dir(path.parent)
    temporary = temporary_path(path.parent, "database-")
    temporary.touch(mode=0o600)  # private content; SQLite gives its other files the same mode
    try:
        with closing(sqlite3.connect(temporary, isolation_level=None)) as connection:
            connection.execute(f"pragma application_id = {APPLICATION_ID}")
            migrate(connection)
            connection.execute("pragma journal_mode = wal")  # processes that open it at once could not change the mode
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)  # unlike a rename, a link fails if the name exists
    finally:
        temporary.unlink()


_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100


def check_header(path: Path) -> None:
    """Refuse a file of another program before SQLite opens and changes it. Raises DatabaseUnusable."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES and _MAGIC.startswith(header[: len(_MAGIC)]):
        raise DatabaseUnusable(
            f"{path.name} is empty or cut off: restore a backup (docs/operations.md, Backup and restore), run "
            "'skill-registry admin rebuild --from-index', or move it away to begin with an empty catalog"
        )
    is_registry = header.startswith(_MAGIC) and int.from_bytes(header[68:72], "big") == APPLICATION_ID
    if not is_registry:
        raise DatabaseUnusable(
            f"{path.name} is not a skill registry database: move it away, or choose another data directory"
        )
