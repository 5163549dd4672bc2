"""Finds damaged tables of a SQLite database, and builds them or their indexes again."""

import itertools
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from registry.database.migrations import MIGRATIONS
from registry.database.sqlite_library import sqlite_utils
from registry.database.sqlite_schema import write_transaction
from registry.db import DamagedTable, DatabaseUnusable

_MESSAGES = 5
"""How many faults of a table are reported."""

_CONDITION = re.compile(r"\swhere\s(.*)", re.DOTALL | re.IGNORECASE)


def damaged_tables(path: Path) -> list[DamagedTable]:
    """Return the tables whose pages, rows or indexes are damaged. The file may be in use, and is read as a whole."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma query_only = on")
        try:
            names = sqlite_utils.Database(connection).table_names()
        except sqlite3.DatabaseError as error:
            return [DamagedTable("sqlite_schema", str(error))]
        checked = ((name, _problem(connection, name)) for name in sorted(names))
        return [
            DamagedTable(name, problem, only_indexes=_has_all_rows(connection, name))
            for name, problem in checked
            if problem is not None
        ]


def is_damaged(path: Path) -> bool:
    """Return whether pages or rows are damaged. Indexes are not compared with their tables, which takes far longer."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        try:
            return connection.execute("pragma quick_check(1)").fetchall() != [("ok",)]
        except sqlite3.OperationalError:  # it is locked, or cannot be read now
            return False
        except sqlite3.DatabaseError:
            return True


def refuse_damaged(copy: Path) -> None:
    """Raise DatabaseUnusable if a copy of a database is damaged: so is the database."""
    if damaged := damaged_tables(copy):
        raise DatabaseUnusable(damage_message(damaged))


def damage_message(damaged: Sequence[DamagedTable]) -> str:
    """Return why there is no backup of a damaged database."""
    names = ", ".join(table.table for table in damaged)
    said = "so there is no backup of it: 'skill-registry admin fsck' says more"
    return f"the database is damaged (tables: {names}), {said}"


def recreate_table(path: Path, table: str) -> None:
    """Replace a damaged table by an empty one, without reading it. No other process may use the database."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with write_transaction(connection):
            _replace(connection, table)
        _vacuum(connection)


def reindex_table(path: Path, table: str) -> None:
    """Build a table with damaged indexes again from its rows. No other process may use the database.

    `reindex` fails, because it reads the pages of the indexes that it frees.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        with write_transaction(connection):
            rows = f'select * from "{table}" not indexed'  # noqa: S608 - a name of the schema
            connection.execute(f"create temp table kept as {rows}")
            _replace(connection, table)
            connection.execute(f'insert into "{table}" select * from kept order by rowid')  # noqa: S608 - as above
        _vacuum(connection)


def _replace(connection: sqlite3.Connection, table: str) -> None:
    """Replace a table by an empty one. `drop table` fails, because it reads the pages that it frees.

    So the table is removed from the schema only; the database is written again without its pages after that.
    """
    connection.execute("pragma writable_schema = on")
    connection.execute("delete from sqlite_schema where tbl_name = ?", (table,))
    connection.execute("pragma writable_schema = reset")
    for sql in _created(table):
        connection.execute(sql)


def _vacuum(connection: sqlite3.Connection) -> None:
    try:
        sqlite_utils.Database(connection).vacuum()
    except sqlite3.DatabaseError:  # another table is damaged too; its repair ends with this again
        return


def _created(table: str) -> list[str]:
    """Return the statements that create a table and its indexes in the current schema."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as empty:
        for sql in itertools.chain(*MIGRATIONS):
            empty.execute(sql)
        schema = "select sql from sqlite_schema where tbl_name = ? and sql is not null order by rowid"
        return [row[0] for row in empty.execute(schema, (table,))]


def _problem(connection: sqlite3.Connection, table: str) -> str | None:
    try:
        rows = connection.execute(f'pragma integrity_check("{table}")').fetchmany(_MESSAGES)
    except sqlite3.DatabaseError as error:
        return str(error)
    messages = [str(row[0]).replace("\n", "; ") for row in rows]
    return None if messages == ["ok"] else "; ".join(messages)


def _has_all_rows(connection: sqlite3.Connection, table: str) -> bool:
    """Return whether a damaged table has lost no row: it can be read, and so can an index with as many rows.

    At least one index cannot be read, and all others agree with the table. If no other one is left, a lost row could
    not be noticed.
    """
    sql = "select name, sql from sqlite_schema where type = 'index' and tbl_name = ?"
    try:
        indexes = connection.execute(sql, (table,)).fetchall()
        for _ in connection.execute(f'select * from "{table}" not indexed'):  # noqa: S608 - a name of the schema
            pass
    except sqlite3.DatabaseError:
        return False
    agreements = [_agrees(connection, table, index, str(created)) for index, created in indexes]
    return None in agreements and True in agreements and False not in agreements


def _agrees(connection: sqlite3.Connection, table: str, index: str, created: str) -> bool | None:
    """Return whether an index has as many rows as its table; None if it cannot be read."""
    condition = _CONDITION.search(created)
    where = f" where {condition[1]}" if condition else ""
    rows = _count(connection, f'"{table}" not indexed{where}')
    try:
        return _count(connection, f'"{table}" indexed by "{index}"{where}') == rows
    except sqlite3.DatabaseError:
        return None


def _count(connection: sqlite3.Connection, rows: str) -> int:
    # `count(*)` would read whichever index is smallest, also with `indexed by`.
    return int(connection.execute(f"select total(1) from {rows}").fetchone()[0])  # noqa: S608 - names of the schema
