"""The schema in a PostgreSQL database: the same steps as in SQLite, said in its words."""

import psycopg

from registry.database.dialect import schema_statement
from registry.database.migrations import MIGRATIONS
from registry.db import DatabaseUnusable, Row

_MIGRATING = 0x536B_526A_0003
"""Key of an advisory lock."""

_PGVECTOR = (0, 8)
"""The first release of pgvector whose index goes on where a filter leaves too little."""


def migrate(connection: psycopg.Connection[Row]) -> None:
    """Bring the schema up to date in one transaction, however many replicas start at once. Raises DatabaseUnusable."""
    if (encoding := _one(connection, "show server_encoding")) != "UTF8":
        raise DatabaseUnusable(f"the PostgreSQL database is encoded in {encoding}: make one with encoding UTF8")
    if _one(connection, "show transaction_read_only") == "on":
        raise DatabaseUnusable("the PostgreSQL database takes no writes, as a standby does: start with --read-only")
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (_MIGRATING,))
        version = _version(connection)
        _refuse_newer(version)
        _take_pgvector(connection)
        for statements in MIGRATIONS[version:]:
            for sql in statements:
                connection.execute(schema_statement(sql).encode())
        connection.execute("update skill_registry_schema set version = %s", (len(MIGRATIONS),))


def check_schema(connection: psycopg.Connection[Row]) -> None:
    """Refuse a database that would have to be written to before it can be read. Raises DatabaseUnusable."""
    there = _one(connection, "select to_regclass('skill_registry_schema')") is not None
    version = _version(connection) if there else 0
    _refuse_newer(version)
    if version < len(MIGRATIONS):
        raise DatabaseUnusable("the database has no catalog of this release yet: start a replica that may write first")


def _refuse_newer(version: int) -> None:
    if version > len(MIGRATIONS):
        raise DatabaseUnusable(
            f"the database was written by a newer release (schema {version}, this one knows {len(MIGRATIONS)}): "
            "upgrade skill-registry, or choose another database"
        )


def _version(connection: psycopg.Connection[Row]) -> int:
    """Return the version of the schema, 0 in an empty database. Raises DatabaseUnusable for another program's."""
    if _one(connection, "select to_regclass('skill_registry_schema')") is not None:
        return int(str(_one(connection, "select version from skill_registry_schema")))
    if _one(connection, "select count(*) from pg_tables where schemaname = current_schema()"):
        raise DatabaseUnusable("the database holds another program's tables: make an empty one for skill-registry")
    connection.execute("create table skill_registry_schema (version bigint not null)")
    connection.execute("insert into skill_registry_schema values (0)")
    return 0


def _take_pgvector(connection: psycopg.Connection[Row]) -> None:
    """Make the extension that keeps vectors, where it is not there yet. Raises DatabaseUnusable."""
    find = "select extversion from pg_extension where extname = 'vector'"
    if (version := _one(connection, find)) is None:
        try:
            with connection.transaction():
                connection.execute("create extension vector")
        except psycopg.errors.InsufficientPrivilege:
            raise DatabaseUnusable(
                "the PostgreSQL database has no pgvector: have an administrator run 'create extension vector' in it"
            ) from None
        except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported):
            raise DatabaseUnusable("the PostgreSQL server has no pgvector: install pgvector 0.8 or newer") from None
        version = _one(connection, find)
    if tuple(int(part) for part in str(version).split(".")[:2]) < _PGVECTOR:
        raise DatabaseUnusable(f"pgvector {version} is too old: have 0.8 or newer, and 'alter extension vector update'")


def _one(connection: psycopg.Connection[Row], sql: str) -> object:
    row = connection.execute(sql.encode()).fetchone()
    return row[0] if row else None
