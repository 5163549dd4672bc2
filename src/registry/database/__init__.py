"""The implementations of `registry.db.Database`, and the choice between them."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from registry.config.groups import DatabaseSettings
from registry.config.settings import DATABASE_FILE, Settings
from registry.config.types import DatabaseUrl
from registry.database import integrity
from registry.database.sqlite import SqliteDatabase
from registry.database.sqlite_schema import check_header
from registry.db import COPYING, DamagedTable, Database, DatabaseUnusable

if TYPE_CHECKING:
    from registry.database.hnsw_indexes import HnswIndexes


def open_database(settings: Settings) -> Database:
    """Open the database that `database.url` names, else the file in `data_dir`. Raises DatabaseUnusable.

    A read-only replica writes nothing to PostgreSQL, so it may use a standby. A SQLite file is always writable, since
    no other process synchronizes it with the skills directory.
    """
    url = settings.database.url
    read_only = settings.server.read_only
    database = _open(url, settings.database, read_only=read_only) if url else _open_file(settings)
    if database.read("select 1 from facts where name = ?", (COPYING,)):
        database.close()
        raise DatabaseUnusable(
            "the database holds an incomplete copy of a catalog: "
            "run 'skill-registry admin migrate' again to complete it"
        )
    if isinstance(database, SqliteDatabase) and settings.profile == "registry":
        database.reserve_space()
    return database


def check_database(settings: Settings) -> None:
    """Check that the database is a catalog, without changing it. Raises CatalogMissing, DatabaseUnusable, OSError."""
    if (path := settings.database_path) is not None:
        check_header(path)
    elif settings.database.url is not None:
        open_url(settings.database.url, read_only=True).close()


def damaged_tables(settings: Settings) -> list[DamagedTable]:
    """Return the damaged tables of a database that may be too damaged for `open_database`. Raises DatabaseError."""
    url = settings.database.url
    if url is None or url.file is not None:
        return integrity.damaged_tables((url and url.file) or settings.data_dir / DATABASE_FILE)
    with closing(open_url(url)) as database:
        return database.damaged_tables()


def open_url(url: DatabaseUrl, *, read_only: bool = False) -> Database:
    """Open the database at a URL for a command, without time-outs. `read_only` applies to PostgreSQL.

    Raises DatabaseUnusable.
    """
    return _open(url, None, read_only=read_only)


def _open_file(settings: Settings) -> Database:
    return SqliteDatabase(settings.data_dir / DATABASE_FILE, settings.database.lock_seconds)


def _open(url: DatabaseUrl, settings: DatabaseSettings | None, *, read_only: bool) -> Database:
    if (path := url.file) is not None:
        return SqliteDatabase(path, (settings or DatabaseSettings()).lock_seconds)
    try:
        from registry.database.postgres import PostgresDatabase  # noqa: PLC0415 - an extra
    except ImportError:
        raise DatabaseUnusable(
            "database.url is a PostgreSQL database: pip install 'skill-registry[postgres]' to use it"
        ) from None
    return PostgresDatabase(url.reveal(), settings, read_only=read_only)


def open_hnsw_indexes(
    database: Database, spaces: Callable[[], Sequence[str]], on_built: Callable[[], None]
) -> "HnswIndexes":
    """Return the builder of the HNSW indexes of a PostgreSQL database."""
    from registry.database.hnsw_indexes import HnswIndexes  # noqa: PLC0415 - as above
    from registry.database.postgres import PostgresDatabase  # noqa: PLC0415

    if not isinstance(database, PostgresDatabase):
        raise TypeError("HNSW indexes need a PostgreSQL database")
    return HnswIndexes(database, spaces, on_built)
