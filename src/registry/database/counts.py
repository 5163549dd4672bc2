"""The counts of the catalog, which every transaction keeps: listed skills, documents and vectors.

A row of `counts` is a name, a block and a number. The writes tell `Transaction.count` what they change, and the commit
stores it, so a count always agrees with the rows that it counts. Listed skills are counted in blocks of `BLOCK`
revisions of their creation, so that the skill at a position of the list is found without reading those before it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from registry.database.migrations import COUNTED
from registry.db import Database, Reader, Transaction

ENABLED = "enabled"
"""Listed skills (those that no source advertises) that are enabled, in blocks."""

DISABLED = "disabled"
"""Listed skills that are disabled, in blocks."""

DOCUMENTS = "documents"
"""Documents that search can find."""

BLOCK = 1024
"""The number of revisions in a block."""

_VECTORS, _CURRENT = "vectors ", "current "

# One index lookup a space: no index of `vectors` begins with the key.
_VECTORS_OF = (
    "with recursive spaces (space) as (select min(space) from vectors union all"
    " select (select min(v.space) from vectors v where v.space > spaces.space) from spaces"
    " where spaces.space is not null)"
    " select v.space, v.text_hash from spaces join vectors v on v.space = spaces.space and v.key = ?"
)
_CURRENT_OF = (
    "select count(*) from vectors v join documents d on d.key = v.key"
    " where v.space = ? and d.gone = 0 and d.text_hash = v.text_hash and v.key in ({})"
)
_DIFFERENCES = (
    "select name, block, sum(stored), sum(counted) from"
    " (select name, block, value as stored, 0 as counted from counts"
    f" union all select name, block, 0, value from ({COUNTED}) actual) compared"
    " group by name, block having sum(stored) <> sum(counted) order by name, block"
)


def vectors_in(space: str) -> str:
    """Return the name of the count of the vectors of a space."""
    return f"{_VECTORS}{space}"


def current_in(space: str) -> str:
    """Return the name of the count of the vectors of a space that were made from the current text of their document."""
    return f"{_CURRENT}{space}"


def total(reader: Reader, *names: str) -> int:
    """Return the sum of some counts over all blocks."""
    sql = f"select coalesce(sum(value), 0) from counts where name in ({_placeholders(names)})"
    return int(reader.read(sql, names)[0][0])


def total_before(reader: Reader, block: int, *names: str) -> int:
    """Return the sum of some counts over the blocks before one."""
    sql = f"select coalesce(sum(value), 0) from counts where name in ({_placeholders(names)}) and block < ?"
    return int(reader.read(sql, (*names, block))[0][0])


def block_totals(reader: Reader, *names: str) -> list[tuple[int, int]]:
    """Return the sum of some counts for each block, in order."""
    sql = f"select block, sum(value) from counts where name in ({_placeholders(names)}) group by block order by block"
    return [(block, int(value)) for block, value in reader.read(sql, names)]


def _placeholders(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values)) or "null"


def stale_total(reader: Reader, space: str) -> int:
    """Return the number of documents without a current vector in a space."""
    sql = "select coalesce(sum(case name when ? then value else -value end), 0) from counts where name in (?, ?)"
    return int(reader.read(sql, (DOCUMENTS, DOCUMENTS, current_in(space)))[0][0])


class Listed(NamedTuple):
    """What decides where a skill is counted: the revision of its creation, and whether and how it is listed."""

    sequence: int
    enabled: int
    advertised: int


def count_listed(transaction: Transaction, skill: Listed, change: int) -> None:
    """Count one listed skill more or less. A skill that a source only advertises is not listed."""
    if not skill.advertised:
        transaction.count(ENABLED if skill.enabled else DISABLED, change, skill.sequence // BLOCK)


class DocumentState(NamedTuple):
    """What decides how a document is counted: whether it is deleted, and the hash of its text to embed."""

    gone: int
    text_hash: str


def count_document(transaction: Transaction, key: int, before: DocumentState, after: DocumentState) -> None:
    """Count a document that changes, and its vectors that become current or stale by it."""
    if before != after:
        transaction.count(DOCUMENTS, before.gone - after.gone)
        for space, text_hash in vectors_of(transaction, key):
            matches = [not state.gone and state.text_hash == text_hash for state in (before, after)]
            transaction.count(current_in(space), matches[1] - matches[0])


def vectors_of(reader: Reader, key: int) -> list[tuple[str, str]]:
    """Return the space and the text hash of each vector of a document."""
    return [(space, text_hash) for space, text_hash in reader.read(_VECTORS_OF, (key,))]


def count_forgotten(transaction: Transaction, space: str, keys: Sequence[int] | None) -> None:
    """Count the vectors of a space (of some documents, or all) as stale. Call it before they change."""
    if keys is None:
        current = total(transaction, current_in(space))
    else:
        current = transaction.read(_CURRENT_OF.format(_placeholders(keys)), (space, *keys))[0][0]
    transaction.count(current_in(space), -current)


def count_dropped(transaction: Transaction, spaces: Sequence[str]) -> None:
    """Count the vectors of whole spaces as deleted."""
    for name in (name for space in spaces for name in (vectors_in(space), current_in(space))):
        transaction.count(name, -total(transaction, name))


def differences(reader: Reader) -> Iterator[str]:
    """Yield a sentence for each count that differs from the rows. This reads all of them."""
    for name, block, stored, counted in reader.read(_DIFFERENCES):
        where = f"{name}, block {block}" if name in (ENABLED, DISABLED) else name
        yield f"{where}: {stored} instead of {counted}"


def correct(database: Database) -> list[str]:
    """Count everything again if a count differs, and return what differed. This reads all rows."""
    if not list(differences(database)):  # without a lock: a single query sees one state of the database
        return []
    with database.write() as transaction:
        wrong_counts = list(differences(transaction))
        if wrong_counts:
            rebuild(transaction)
    return wrong_counts


def rebuild(transaction: Transaction) -> None:
    """Count everything again, as this transaction sees it."""
    transaction.execute("delete from counts")
    transaction.execute(f"insert into counts (name, block, value) {COUNTED}")
    transaction.counted.clear()
