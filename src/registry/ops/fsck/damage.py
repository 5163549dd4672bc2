"""Checks that every table of the database can be read in full, and agrees with its indexes.

Derived tables are emptied. The checks that come after this one fill them again.
"""

import functools
from collections.abc import Iterator

from registry.catalog.document_rows import restore_document
from registry.config.settings import Settings
from registry.database import damaged_tables
from registry.database.table_roles import role_of
from registry.db import DamagedTable, Transaction
from registry.ops.fsck.drift import Discrepancy, Drift, derived, lost
from registry.ops.fsck.parts import Parts

_LATER = "recover the other tables first: this one can be built again after that"

_SKIPPED_NUMBERS = 1_000_000
"""How far a new counter starts above the highest known change: indexes may have reached one that has left no row."""


def check(parts: Parts) -> Iterator[Discrepancy]:
    """Yield the tables that are damaged: other checks may miss their rows."""
    for damaged in parts.database.damaged_tables():
        thing, problem, advice = _described(damaged)
        if advice is not None:
            yield lost("rows", thing, problem, advice)
        elif damaged.only_indexes:
            yield derived("rows", thing, problem, functools.partial(parts.database.reindex_table, damaged.table))
        else:
            yield derived("rows", thing, problem, functools.partial(_recreate, parts, damaged.table))


def of_unreadable(settings: Settings) -> list[Drift]:
    """Return the damaged tables of a database that cannot be opened. Nothing in it can be repaired.

    Raises DatabaseError.
    """
    described = [_described(damaged) for damaged in damaged_tables(settings)]
    return [lost("rows", thing, problem, advice or _LATER).drift for thing, problem, advice in described]


def _described(damaged: DamagedTable) -> tuple[str, str, str | None]:
    """Return the table, its problem, and what to do; None if it can be repaired."""
    role, thing = role_of(damaged.table), f"table {damaged.table}"
    if damaged.only_indexes:
        return thing, f"its indexes are damaged, but no row is lost: {damaged.problem}", None
    if role.is_derived:
        return thing, f"it is damaged, and holds only {role.content}: {damaged.problem}", None
    return thing, f"it is damaged, and rows may be lost of {role.content}: {damaged.problem}", role.recovery


def _recreate(parts: Parts, table: str) -> None:
    """Empty a derived table, and write what the rest of the database needs to be consistent with it."""
    parts.database.recreate_table(table)
    with parts.database.write() as transaction:
        match table:
            case "counter":
                _continue_counter(transaction)
            case "documents":
                for key, skill_id in transaction.read("select key, id from skills order by key"):
                    restore_document(transaction, key, skill_id)
            case "advertised":
                _list_again(parts, transaction)


def _continue_counter(transaction: Transaction) -> None:
    numbers = "select number from documents union all select number from vectors"
    highest = transaction.read(f"select coalesce(max(number), 0) from ({numbers}) numbers")[0][0]
    transaction.execute("insert into counter (value) values (?)", (highest + _SKIPPED_NUMBERS,))


def _list_again(parts: Parts, transaction: Transaction) -> None:
    """Remove the skills of sources, so that the next refresh of each source adds them again."""
    for (key,) in transaction.read("select key from skills where advertised = 1"):
        parts.catalog.delete(transaction, key)
    transaction.execute("update source_states set mark = ''")
