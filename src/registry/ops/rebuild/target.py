"""The database that is rebuilt: a new SQLite file that takes its place when complete, or an empty PostgreSQL one."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from registry.config.settings import DATABASE_FILE, Settings
from registry.database import damaged_tables, open_database
from registry.database.sqlite import SqliteDatabase
from registry.database.table_roles import TABLE_ROLES, role_of
from registry.db import Database, Reader
from registry.ops.rebuild.recorded import RebuildRefused
from registry.runtime.atomic_files import sync_folder, temporary_path

_SIDES = ("-wal", "-shm", "")
"""The files of a SQLite database. Those beside it are moved first: they belong to no other database."""

_CONTENT = tuple(name for name, role in TABLE_ROLES.items() if not role.is_derived and name != "facts")
"""The tables that are empty in a new catalog."""


class Target:
    """Where the rebuilt database goes. `set_aside` is the file that the old one was moved to, if there was one."""

    def __init__(self, settings: Settings, *, replace: bool) -> None:
        self._settings = settings
        self._replace = replace
        url = settings.database.url
        self._file = (url.file if url else None) or (settings.data_dir / DATABASE_FILE if url is None else None)
        self.set_aside: Path | None = None

    def check(self) -> None:
        """Raise RebuildRefused if there is a database that can be read and holds something, DatabaseError."""
        if self._file is None:
            with closing(open_database(self._settings)) as database:
                if _holds_something(database):
                    raise RebuildRefused(
                        "the database at database.url is not empty, and is not replaced: create an empty one and set "
                        "database.url to it"
                    )
        elif self._file.exists() and not self._replace and not _is_lost(self._settings) and _file_holds(self._file):
            raise RebuildRefused(
                f"{self._file.name} can be read: 'skill-registry admin fsck' says what is wrong with it. To rebuild it "
                "all the same, add --replace, which sets it aside"
            )

    @contextmanager
    def opened(self) -> Iterator[Database]:
        """Yield the database to fill. Its content counts from the end of the block on, and never if it raises."""
        if self._file is None:
            with closing(open_database(self._settings)) as database:
                yield database
            return
        new = temporary_path(self._file.parent, "database-")
        try:
            with closing(SqliteDatabase(new)) as database:
                yield database
            self._set_old_aside(self._file)
            new.replace(self._file)
            sync_folder(self._file.parent)
        finally:
            for side in _SIDES:
                new.with_name(f"{new.name}{side}").unlink(missing_ok=True)

    def _set_old_aside(self, file: Path) -> None:
        if not file.exists():
            return
        aside = file.with_name(f"{file.name}.{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        for side in _SIDES:
            if (old := file.with_name(f"{file.name}{side}")).exists():
                old.replace(aside.with_name(f"{aside.name}{side}"))
        self.set_aside = aside


def _is_lost(settings: Settings) -> bool:
    """Return whether rows may be lost that exist nowhere else in the database."""
    return any(not role_of(table.table).is_derived and not table.only_indexes for table in damaged_tables(settings))


def _file_holds(path: Path) -> bool:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        tables = {row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")}
        if not TABLE_ROLES.keys() & tables:
            return bool(tables)
        return any(connection.execute(_any_row(name)).fetchone() for name in _CONTENT if name in tables)


def _holds_something(database: Reader) -> bool:
    return any(database.read(_any_row(name)) for name in _CONTENT)


def _any_row(table: str) -> str:
    return f"select 1 from {table} limit 1"  # noqa: S608 - a name of the schema
