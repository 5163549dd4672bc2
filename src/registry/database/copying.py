"""Copies a catalog from SQLite to PostgreSQL: every table in key order, one transaction for each batch.

The copy starts by setting a mark in the target and ends by removing it. The next run resumes an interrupted copy. No
service starts on an incomplete one.
"""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from registry.database.dialect import text, vector
from registry.database.migrations import MIGRATIONS
from registry.db import COPYING, Database, DatabaseUnusable, Row, Transaction

_BATCH_ROWS = 500
_CREATED = re.compile(r"create table ([a-z_]+)")
_SMALL = ("counter", "facts")
"""Tables that have rows in a new database. They are replaced at the end, after all others."""

_Read = Callable[[str, Sequence[object]], list[Row]]


class Table(NamedTuple):
    """A table with its columns, and the columns of its primary key in order."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class Copied(msgspec.Struct):
    """The content of a table on both sides: its number of rows, and the SHA-256 of all rows in order."""

    table: str
    rows: int
    digest: str


def copy_catalog(source: Database, target: Database) -> list[Copied]:
    """Copy a whole catalog from SQLite to PostgreSQL, and return the compared content of each table.

    Writers of the source wait until the end. A target that is a complete copy already is only compared. Raises
    DatabaseUnusable if the target holds something else, or differs at the end.
    """
    with source.write() as frozen:  # blocks every other writer until the end
        tables = [_table(frozen, name) for name in _table_names()]
        small = [table for table in tables if table.name in _SMALL]
        large = [table for table in tables if table not in small]
        if copied := _earlier_copy(tables, frozen, target):
            return copied
        _begin(frozen, target)
        for table in large:
            _copy(table, frozen.read, target)
        copied = [_compare(table, frozen.read, target.read) for table in large]
        _finish(small, large, frozen, target)
        return copied + [_compare(table, frozen.read, target.read) for table in small]


def _table_names() -> list[str]:
    """Return the tables in the order of their creation, in which none references a later one."""
    return [match[1] for sql in itertools.chain(*MIGRATIONS) if (match := _CREATED.match(sql))]


def _table(frozen: Transaction, name: str) -> Table:
    columns = frozen.read("select name, pk from pragma_table_info(?) order by cid", (name,))
    key = sorted((position, column) for column, position in columns if position)
    return Table(name, tuple(column for column, _ in columns), tuple(column for _, column in key))


def _earlier_copy(tables: Sequence[Table], frozen: Transaction, target: Database) -> list[Copied]:
    """Return the content of the tables if the target is a complete, unchanged copy; an empty list otherwise."""
    sql = "select value from facts where name in ('catalog_id', ?) order by name"
    if target.read(sql, (COPYING,)) != frozen.read(sql, (COPYING,)):
        return []
    pairs = [(_digest(table, frozen.read), _digest(table, target.read)) for table in tables]
    return [ours for ours, _ in pairs] if all(ours == theirs for ours, theirs in pairs) else []


def _begin(frozen: Transaction, target: Database) -> None:
    catalog_id = str(frozen.read("select value from facts where name = 'catalog_id'")[0][0])
    with target.write() as transaction:
        marks = transaction.read("select value from facts where name = ?", (COPYING,))
        if not marks and transaction.read("select 1 from counter where value > 0"):
            raise DatabaseUnusable("the target already holds a catalog: choose an empty database")
        if marks and marks[0][0] != catalog_id:
            raise DatabaseUnusable("the target holds part of another catalog: choose an empty database")
        transaction.put_fact(COPYING, catalog_id)


def _copy(table: Table, read: _Read, target: Database) -> None:
    for rows in _batches(table, read, _last_key(table, target.read)):
        with target.write() as transaction:
            transaction.execute_many(_insert(table), [_converted(table, row) for row in rows])


def _last_key(table: Table, read: _Read) -> Row | None:
    order = ", ".join(f"{column} desc" for column in table.key)
    rows = read(f"select {', '.join(table.key)} from {table.name} order by {order} limit 1", ())
    return rows[0] if rows else None


def _batches(table: Table, read: _Read, after: Row | None = None) -> Iterator[list[Row]]:
    """Yield batches of rows in key order, from the row after the key `after` on."""
    columns, key = ", ".join(table.columns), ", ".join(table.key or table.columns)
    positions = [table.columns.index(column) for column in table.key or table.columns]
    while True:
        where = f"where ({key}) > ({', '.join('?' * len(after))})" if after else ""
        rows = read(f"select {columns} from {table.name} {where} order by {key} limit ?", (*(after or ()), _BATCH_ROWS))
        if not rows:
            return
        yield rows
        after = tuple(rows[-1][position] for position in positions)


def _converted(table: Table, row: Row) -> Row:
    """Return a row as PostgreSQL stores it."""
    if table.name != "vectors":
        return tuple(text(value) if isinstance(value, str) else value for value in row)
    return tuple(vector(value) if isinstance(value, bytes) else value for value in row)


def _insert(table: Table) -> str:
    marks = ", ".join("?" * len(table.columns))
    return f"insert into {table.name} ({', '.join(table.columns)}) values ({marks})"


def _finish(small: Sequence[Table], large: Sequence[Table], frozen: Transaction, target: Database) -> None:
    """Replace the small tables, which also removes the mark, and continue the sequences."""
    with target.write() as transaction:
        for table in small:
            transaction.execute(f"delete from {table.name}")
            transaction.execute_many(_insert(table), [row for rows in _batches(table, frozen.read) for row in rows])
        for table in large:
            _continue_sequence(table, transaction)


def _continue_sequence(table: Table, transaction: Transaction) -> None:
    """Set the sequence of a generated key to the highest copied key."""
    sequence = transaction.read("select pg_get_serial_sequence(?, ?)", (table.name, table.key[0]))[0][0]
    if sequence is not None:
        transaction.read(f"select setval(?::regclass, (select max({table.key[0]}) from {table.name}))", (sequence,))


def _compare(table: Table, source: _Read, target: _Read) -> Copied:
    ours, theirs = _digest(table, source), _digest(table, target)
    if ours != theirs:
        raise DatabaseUnusable(
            f"the table {table.name} differs after the copy ({ours.rows} rows here, {theirs.rows} in the target): "
            "empty the target and copy again"
        )
    return ours


def _digest(table: Table, read: _Read) -> Copied:
    count, digest = 0, hashlib.sha256()
    for rows in _batches(table, read):
        count += len(rows)
        digest.update(b"".join(msgspec.msgpack.encode(_converted(table, row), enc_hook=bytes) for row in rows))
    return Copied(table.name, count, digest.hexdigest())
