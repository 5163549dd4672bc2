"""Finds damaged tables of a SQLite database."""

import sqlite3
from contextlib import closing
from pathlib import Path

from registry.db import DamagedTable, DatabaseUnusable

_MESSAGES = 5
"""How many faults of a table are reported."""


def damaged_tables(path: Path) -> list[DamagedTable]:
    """Return the tables whose pages, rows or indexes are damaged. The file may be in use, and is read as a whole."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma query_only = on")
        try:
            names = [row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")]
        except sqlite3.DatabaseError as error:
            return [DamagedTable("sqlite_schema", str(error))]
        checked = ((name, _problem(connection, name)) for name in sorted(names))
        return [DamagedTable(name, problem) for name, problem in checked if problem is not None]


def refuse_damaged(copy: Path) -> None:
    """Raise DatabaseUnusable if a copy of a database is damaged: so is the database."""
    if damaged := damaged_tables(copy):
        names = ", ".join(table for table, _ in damaged)
        raise DatabaseUnusable(
            f"the database is damaged (tables: {names}), so there is no backup of it: 'skill-registry fsck' says more"
        )


def _problem(connection: sqlite3.Connection, table: str) -> str | None:
    try:
        rows = connection.execute(f'pragma integrity_check("{table}")').fetchmany(_MESSAGES)
    except sqlite3.DatabaseError as error:
        return str(error)
    messages = [str(row[0]).replace("\n", "; ") for row in rows]
    return None if messages == ["ok"] else "; ".join(messages)
