"""The content of a table as a digest, which is the same in SQLite and PostgreSQL."""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from registry.database.dialect import text, vector
from registry.database.migrations import MIGRATIONS
from registry.db import Row
from registry.domain.counts import counted

_BATCH_ROWS = 500
_CREATED = re.compile(r"create table ([a-z_]+)")
_SQLITE_COLUMNS = "select name, pk from pragma_table_info(?) order by cid"
_POSTGRESQL_COLUMNS = (
    "select a.attname, coalesce(array_position(i.indkey::smallint[], a.attnum) + 1, 0) from pg_attribute a"
    " left join pg_index i on i.indrelid = a.attrelid and i.indisprimary"
    " where a.attrelid = to_regclass(?) and a.attnum > 0 and not a.attisdropped order by a.attnum"
)

Read = Callable[[str, Sequence[object]], list[Row]]


class Table(NamedTuple):
    """A table with its columns, and the columns of its primary key in order."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


class TableDigest(msgspec.Struct):
    """The content of a table: its number of rows, and the SHA-256 of all rows in the order of the primary key."""

    table: str
    rows: int
    digest: str


def tables(read: Read, *, is_sqlite: bool = True) -> list[Table]:
    """Return the tables of a catalog in the order of their creation, in which none references a later one."""
    names = [match[1] for sql in itertools.chain(*MIGRATIONS) if (match := _CREATED.match(sql))]
    tables_read = (_table(read, name, _SQLITE_COLUMNS if is_sqlite else _POSTGRESQL_COLUMNS) for name in names)
    return [table for table in tables_read if table.columns]


def _table(read: Read, name: str, sql: str) -> Table:
    columns = read(sql, (name,))
    key = sorted((position, column) for column, position in columns if position)
    return Table(name, tuple(column for column, _ in columns), tuple(column for _, column in key))


def table_digests(read: Read, *, is_sqlite: bool) -> list[TableDigest]:
    """Return the digest of every table. `read` reads one state of a database."""
    return [table_digest(table, read) for table in tables(read, is_sqlite=is_sqlite)]


def table_digest(table: Table, read: Read) -> TableDigest:
    """Return the digest of one table."""
    count, digest = 0, hashlib.sha256()
    for rows in batches(table, read):
        count += len(rows)
        digest.update(b"".join(msgspec.msgpack.encode(converted(table, row), enc_hook=bytes) for row in rows))
    return TableDigest(table.name, count, digest.hexdigest())


def batches(table: Table, read: Read, after: Row | None = None) -> Iterator[list[Row]]:
    """Yield batches of rows in key order, from the row after the key `after` on."""
    columns, key = ", ".join(table.columns), ", ".join(table.key or table.columns)
    positions = [table.columns.index(column) for column in table.key or table.columns]
    while True:
        where = f"where ({key}) > ({', '.join('?' * len(after))})" if after else ""
        sql = f"select {columns} from {table.name} {where} order by {key} limit ?"  # noqa: S608 - names of the schema
        rows = read(sql, (*(after or ()), _BATCH_ROWS))
        if not rows:
            return
        yield rows
        after = tuple(rows[-1][position] for position in positions)


def converted(table: Table, row: Row) -> Row:
    """Return a row as PostgreSQL stores it."""
    if table.name != "vectors":
        return tuple(text(value) if isinstance(value, str) else value for value in row)
    return tuple(vector(value) if isinstance(value, bytes) else value for value in row)


def differences(expected: Sequence[TableDigest], actual: Sequence[TableDigest]) -> list[str]:
    """Return a sentence for each table whose content is not as expected."""
    actual_by_name = {table.table: table for table in actual}
    return [
        _difference(table, actual_by_name.get(table.table))
        for table in expected
        if actual_by_name.get(table.table) != table
    ]


def _difference(expected: TableDigest, actual: TableDigest | None) -> str:
    if actual is None:
        return f"table {expected.table}: it is missing"
    if actual.rows != expected.rows:
        return f"table {expected.table}: it has {counted(actual.rows, 'row')} instead of {expected.rows}"
    return f"table {expected.table}: its rows have another content"
