"""Copies a catalog from SQLite to PostgreSQL: every table in key order, one transaction for each batch.

The copy starts by setting a mark in the target and ends by removing it. The next run resumes an interrupted copy. No
service starts on an incomplete one.
"""

from collections.abc import Sequence

from registry.database.digests import Read, Table, TableDigest, batches, converted, table_digest, tables
from registry.db import COPYING, Database, DatabaseUnusable, Row, Transaction
from registry.domain.counts import counted

_SMALL = ("counter", "facts")
"""Tables that have rows in a new database. They are replaced at the end, after all others."""


def copy_catalog(source: Database, target: Database) -> list[TableDigest]:
    """Copy a whole catalog from SQLite to PostgreSQL, and return the compared content of each table.

    Writers of the source wait until the end. A target that is a complete copy already is only compared. Raises
    DatabaseUnusable if the target holds something else, or differs at the end.
    """
    with source.write() as frozen:  # blocks every other writer until the end
        every = tables(frozen.read)
        small = [table for table in every if table.name in _SMALL]
        large = [table for table in every if table not in small]
        if copied := _earlier_copy(every, frozen, target):
            return copied
        _begin(frozen, target)
        for table in large:
            _copy(table, frozen.read, target)
        copied = [_compare(table, frozen.read, target.read) for table in large]
        _finish(small, large, frozen, target)
        return copied + [_compare(table, frozen.read, target.read) for table in small]


def _earlier_copy(every: Sequence[Table], frozen: Transaction, target: Database) -> list[TableDigest]:
    """Return the content of the tables if the target is a complete, unchanged copy; an empty list otherwise."""
    sql = "select value from facts where name in ('catalog_id', ?) order by name"
    if target.read(sql, (COPYING,)) != frozen.read(sql, (COPYING,)):
        return []
    pairs = [(table_digest(table, frozen.read), table_digest(table, target.read)) for table in every]
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


def _copy(table: Table, read: Read, target: Database) -> None:
    for rows in batches(table, read, _last_key(table, target.read)):
        with target.write() as transaction:
            transaction.execute_many(_insert(table), [converted(table, row) for row in rows])


def _last_key(table: Table, read: Read) -> Row | None:
    order = ", ".join(f"{column} desc" for column in table.key)
    rows = read(f"select {', '.join(table.key)} from {table.name} order by {order} limit 1", ())
    return rows[0] if rows else None


def _insert(table: Table) -> str:
    marks = ", ".join("?" * len(table.columns))
    return f"insert into {table.name} ({', '.join(table.columns)}) values ({marks})"


def _finish(small: Sequence[Table], large: Sequence[Table], frozen: Transaction, target: Database) -> None:
    """Replace the small tables, which also removes the mark, and continue the sequences."""
    with target.write() as transaction:
        for table in small:
            transaction.execute(f"delete from {table.name}")
            transaction.execute_many(_insert(table), [row for rows in batches(table, frozen.read) for row in rows])
        for table in large:
            _continue_sequence(table, transaction)


def _continue_sequence(table: Table, transaction: Transaction) -> None:
    """Set the sequence of a generated key to the highest copied key."""
    sequence = transaction.read("select pg_get_serial_sequence(?, ?)", (table.name, table.key[0]))[0][0]
    if sequence is not None:
        transaction.read(f"select setval(?::regclass, (select max({table.key[0]}) from {table.name}))", (sequence,))


def _compare(table: Table, source: Read, target: Read) -> TableDigest:
    ours, theirs = table_digest(table, source), table_digest(table, target)
    if ours != theirs:
        raise DatabaseUnusable(
            f"the table {table.name} differs after the copy ({counted(ours.rows, 'row')} here, {theirs.rows} in the "
            "target): empty the target and copy again"
        )
    return ours
