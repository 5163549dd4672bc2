"""The implementations of `registry.db.Database`, and the choice between them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from registry.config.settings import DATABASE_FILE, Settings
from registry.config.types import DatabaseUrl
from registry.database.sqlite import SqliteDatabase
from registry.db import COPYING, Database, DatabaseUnusable

if TYPE_CHECKING:
    from registry.database.hnsw_indexes import HnswIndexes


def open_database(settings: Settings) -> Database:
    """Open the database that `database.url` names, else the file in `data_dir`. Raises DatabaseUnusable.

    A read-only replica writes nothing to PostgreSQL, so that it may be on a standby. A SQLite file has nobody else to
    keep it up with the skills directory.
    """
    url = settings.database.url
    read_only = settings.server.read_only
    database = open_url(url, read_only=read_only) if url else SqliteDatabase(settings.data_dir / DATABASE_FILE)
    if database.read("select 1 from facts where name = ?", (COPYING,)):
        database.close()
        raise DatabaseUnusable("a catalog is being copied into the database: run 'skill-registry migrate' to its end")
    return database


def open_url(url: DatabaseUrl, *, read_only: bool = False) -> Database:
    """Open the database at a URL, PostgreSQL perhaps only to be read. Raises DatabaseUnusable."""
    if (path := url.file) is not None:
        return SqliteDatabase(path)
    try:
        from registry.database.postgres import PostgresDatabase  # noqa: PLC0415 - an extra, and nobody else needs it
    except ImportError:
        raise DatabaseUnusable(
            "database.url is a PostgreSQL database: install skill-registry[postgres], which can talk to it"
        ) from None
    return PostgresDatabase(url.reveal(), read_only=read_only)


def open_graphs(database: Database, spaces: Callable[[], Sequence[str]], on_built: Callable[[], None]) -> "HnswIndexes":
    """Return what builds the indexes through which vectors are searched in a PostgreSQL database."""
    from registry.database.hnsw_indexes import HnswIndexes  # noqa: PLC0415 - as above
    from registry.database.postgres import PostgresDatabase  # noqa: PLC0415

    if not isinstance(database, PostgresDatabase):
        raise TypeError("vectors are searched in PostgreSQL only")
    return HnswIndexes(database, spaces, on_built)
