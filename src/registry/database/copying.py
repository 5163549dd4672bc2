"""A catalog's way from SQLite into PostgreSQL: every table in the order of its key, a batch a transaction.

The copy begins with a mark in the target and ends by taking it away: a copy cut short is continued by the next, and
until it is whole no service starts on it.
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

_ROWS_A_BATCH = 500
_CREATED = re.compile(r"create table ([a-z_]+)")
_SMALL = ("counter", "facts")
"""Tables that a new database has rows in: replaced at the end, when all else is there."""

_Read = Callable[[str, Sequence[object]], list[Row]]


class Table(NamedTuple):
    """A table with its columns, and those of its primary key in their order."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class Copied(msgspec.Struct):
    """What one table holds on both sides: how many rows, and the SHA-256 of them in order."""

    table: str
    rows: int
    digest: str


def copy_catalog(source: Database, target: Database) -> list[Copied]:
    """Copy a whole catalog from SQLite to PostgreSQL, holding its writers off, and return what was compared.

    A copy that is whole already, since whoever made it was killed at its end, is compared and left as it is. Raises
    DatabaseUnusable where the target holds something else, or differs at the end.
    """
    with source.write() as frozen:  # holds every other writer off until the end
        tables = [_table(frozen, name) for name in _names()]
        small = [table for table in tables if table.name in _SMALL]
        large = [table for table in tables if table not in small]
        if copied := _copied_before(tables, frozen, target):
            return copied
        _begin(frozen, target)
        for table in large:
            _copy(table, frozen.read, target)
        copied = [_compare(table, frozen.read, target.read) for table in large]
        _finish(small, large, frozen, target)
        return copied + [_compare(table, frozen.read, target.read) for table in small]


def _names() -> list[str]:
    """Return the tables in the order they were made in, in which none refers to a later one."""
    return [found[1] for sql in itertools.chain(*MIGRATIONS) if (found := _CREATED.match(sql))]


def _table(frozen: Transaction, name: str) -> Table:
    columns = frozen.read("select name, pk from pragma_table_info(?) order by cid", (name,))
    key = sorted((place, column) for column, place in columns if place)
    return Table(name, tuple(column for column, _ in columns), tuple(column for _, column in key))


def _copied_before(tables: Sequence[Table], frozen: Transaction, target: Database) -> list[Copied]:
    """Return what the tables hold where the target is a whole copy that nobody has changed, nothing otherwise."""
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
            raise DatabaseUnusable("the target holds a catalog already: name an empty database")
        if marks and marks[0][0] != catalog_id:
            raise DatabaseUnusable("the target holds part of another catalog: name an empty database")
        transaction.put_fact(COPYING, catalog_id)


def _copy(table: Table, read: _Read, target: Database) -> None:
    for rows in _batches(table, read, _last_key(table, target.read)):
        with target.write() as transaction:
            transaction.execute_many(_insert(table), [_kept(table, row) for row in rows])


def _last_key(table: Table, read: _Read) -> Row | None:
    order = ", ".join(f"{column} desc" for column in table.key)
    rows = read(f"select {', '.join(table.key)} from {table.name} order by {order} limit 1", ())
    return rows[0] if rows else None


def _batches(table: Table, read: _Read, after: Row | None = None) -> Iterator[list[Row]]:
    """Yield the rows in the order of the key, those after a key if there is one."""
    columns, key = ", ".join(table.columns), ", ".join(table.key or table.columns)
    places = [table.columns.index(column) for column in table.key or table.columns]
    while True:
        where = f"where ({key}) > ({', '.join('?' * len(after))})" if after else ""
        rows = read(
            f"select {columns} from {table.name} {where} order by {key} limit ?", (*(after or ()), _ROWS_A_BATCH)
        )
        if not rows:
            return
        yield rows
        after = tuple(rows[-1][place] for place in places)


def _kept(table: Table, row: Row) -> Row:
    """Return a row as PostgreSQL keeps it."""
    if table.name != "vectors":
        return tuple(text(value) if isinstance(value, str) else value for value in row)
    return tuple(vector(value) if isinstance(value, bytes) else value for value in row)


def _insert(table: Table) -> str:
    marks = ", ".join("?" * len(table.columns))
    return f"insert into {table.name} ({', '.join(table.columns)}) values ({marks})"


def _finish(small: Sequence[Table], large: Sequence[Table], frozen: Transaction, target: Database) -> None:
    """Take the small tables over, in place of what a new database has in them, and so the mark away."""
    with target.write() as transaction:
        for table in small:
            transaction.execute(f"delete from {table.name}")
            transaction.execute_many(_insert(table), [row for rows in _batches(table, frozen.read) for row in rows])
        for table in large:
            _number_on(table, transaction)


def _number_on(table: Table, transaction: Transaction) -> None:
    """Have the keys that the database gives go on after those that were copied."""
    given = transaction.read("select pg_get_serial_sequence(?, ?)", (table.name, table.key[0]))[0][0]
    if given is not None:
        transaction.read(f"select setval(?::regclass, (select max({table.key[0]}) from {table.name}))", (given,))


def _compare(table: Table, source: _Read, target: _Read) -> Copied:
    ours, theirs = _digest(table, source), _digest(table, target)
    if ours != theirs:
        raise DatabaseUnusable(
            f"the table {table.name} differs after the copy ({ours.rows} rows, then {theirs.rows}): "
            "empty the target and copy again"
        )
    return ours


def _digest(table: Table, read: _Read) -> Copied:
    count, digest = 0, hashlib.sha256()
    for rows in _batches(table, read):
        count += len(rows)
        digest.update(b"".join(msgspec.msgpack.encode(_kept(table, row), enc_hook=bytes) for row in rows))
    return Copied(table.name, count, digest.hexdigest())
