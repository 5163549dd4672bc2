"""The schema of a PostgreSQL database: the migrations, translated from SQLite."""

import psycopg

from registry.database.dialect import schema_statement
from registry.database.migrations import MIGRATIONS
from registry.db import CatalogMissing, DatabaseUnusable, Row

_MIGRATION_LOCK = 0x536B_526A_0003
"""The key of an advisory lock."""

_PGVECTOR = (0, 8)
"""The first release of pgvector with iterative index scans."""


def migrate(connection: psycopg.Connection[Row]) -> None:
    """Migrate the schema in one transaction; several replicas may start at once. Raises DatabaseUnusable."""
    if (encoding := _value(connection, "show server_encoding")) != "UTF8":
        raise DatabaseUnusable(
            f"the PostgreSQL database has the encoding {encoding}: create one with the encoding UTF8"
        )
    if _value(connection, "show transaction_read_only") == "on":
        raise DatabaseUnusable("the PostgreSQL database is read-only, as a standby is: start with --read-only")
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        version = _version(connection)
        _refuse_newer(version)
        _ensure_pgvector(connection)
        for statements in MIGRATIONS[version:]:
            for sql in statements:
                connection.execute(schema_statement(sql).encode())
        connection.execute("update skill_registry_schema set version = %s", (len(MIGRATIONS),))


def check_schema(connection: psycopg.Connection[Row]) -> None:
    """Refuse a database that needs a migration, which a read-only replica cannot run. Raises DatabaseUnusable."""
    has_schema = _value(connection, "select to_regclass('skill_registry_schema')") is not None
    version = _version(connection) if has_schema else 0
    _refuse_newer(version)
    if version < len(MIGRATIONS):
        raise CatalogMissing(
            "the database has no catalog of this release yet: start a replica without --read-only first"
        )


def _refuse_newer(version: int) -> None:
    if version > len(MIGRATIONS):
        raise DatabaseUnusable(
            f"the database was written by a newer release (schema {version}, this one knows {len(MIGRATIONS)}): "
            "upgrade skill-registry, or choose another database"
        )


def _version(connection: psycopg.Connection[Row]) -> int:
    """Return the schema version, 0 for an empty database. Raises DatabaseUnusable for another program's database."""
    if _value(connection, "select to_regclass('skill_registry_schema')") is not None:
        return int(str(_value(connection, "select version from skill_registry_schema")))
    if _value(connection, "select count(*) from pg_tables where schemaname = current_schema()"):
        raise DatabaseUnusable(
            "the database holds tables of another program: create an empty database for skill-registry"
        )
    connection.execute("create table skill_registry_schema (version bigint not null)")
    connection.execute("insert into skill_registry_schema (version) values (0)")
    return 0


def _ensure_pgvector(connection: psycopg.Connection[Row]) -> None:
    """Create the extension pgvector if it does not exist yet. Raises DatabaseUnusable."""
    find = "select extversion from pg_extension where extname = 'vector'"
    if (version := _value(connection, find)) is None:
        try:
            with connection.transaction():
                connection.execute("create extension vector")
        except psycopg.errors.InsufficientPrivilege:
            raise DatabaseUnusable(
                "the PostgreSQL database has no pgvector: have an administrator run 'create extension vector' in it"
            ) from None
        except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported):
            raise DatabaseUnusable("the PostgreSQL server has no pgvector: install pgvector 0.8 or newer") from None
        version = _value(connection, find)
    if tuple(int(part) for part in str(version).split(".")[:2]) < _PGVECTOR:
        raise DatabaseUnusable(
            f"pgvector {version} is too old: install 0.8 or newer and run 'alter extension vector update'"
        )


def _value(connection: psycopg.Connection[Row], sql: str) -> object:
    row = connection.execute(sql.encode()).fetchone()
    return row[0] if row else None
