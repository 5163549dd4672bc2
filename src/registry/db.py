"""The interface of the database: the guarantees of every implementation.

SQLite and PostgreSQL both accept the SQL of the callers. `?` is always a placeholder, `on conflict` names the key and
qualifies columns of the table, and texts compare byte by byte. `registry.database` has the implementations, and
`open_database` chooses one.
"""

import logging
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol

_log = logging.getLogger("registry.db")

Row = tuple[Any, ...]
Parameters = Sequence[Any]

COPYING = "copy_of"
"""The fact that marks an incomplete copy of a catalog; its value is the id of the copied catalog."""


AWAY = "the database cannot be reached"


class DatabaseError(Exception):
    """An operation of the database failed, through no fault of the caller."""


class DatabaseUnusable(DatabaseError):
    """The database cannot be used, and was not changed; the message says why."""


class CatalogMissing(DatabaseUnusable):
    """The database has no catalog of this release."""


class DatabaseUnavailable(DatabaseError):
    """The database cannot be read or written now: it is busy or unreachable, or its disk fails."""


class DatabaseFull(DatabaseError):
    """The disk of the database is full."""


class Reader(Protocol):
    """Runs queries: a database, or an open transaction."""

    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query."""
        ...


def read_fact(reader: Reader, name: str) -> str | None:
    """Return a fact about the catalog, None if it is not set."""
    rows = reader.read("select value from facts where name = ?", (name,))
    return str(rows[0][0]) if rows else None


_CHANGE_COUNT = (
    "insert into counts (name, block, value) values (?, ?, ?)"
    " on conflict (name, block) do update set value = counts.value + excluded.value"
)


class Transaction(ABC):
    """One open write transaction.

    Attributes:
        touched: The ids of what it changes, for the audit log.
        changes_documents: Whether it changes what search reads.
        counted: By how much each count changes, by name and block (`registry.database.counts`).
        before_commit: What is done once before the commit, by name, for all writes that share it.
    """

    def __init__(self) -> None:
        self.before_commit: dict[str, Callable[[], None]] = {}
        self.touched: list[str] = []
        self.changes_documents = False
        self.counted: Counter[tuple[str, int]] = Counter()

    @abstractmethod
    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run a statement and return the number of changed rows."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Sequence[Parameters]) -> int:
        """Run a statement for every row of parameters and return the number of changed rows."""

    @abstractmethod
    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as this transaction sees them."""

    def next_revision(self, count: int = 1) -> int:
        """Draw `count` change numbers in commit order, and return the last of them."""
        return int(self.read("update counter set value = value + ? returning value", (count,))[0][0])

    def count(self, name: str, change: int, block: int = 0) -> None:
        """Change a count of the catalog by `change` when the transaction commits."""
        self.counted[name, block] += change

    def store_counts(self) -> None:
        """Write what `count` has collected, each count once; for implementations of Database."""
        changes = [(name, block, change) for (name, block), change in self.counted.items() if change]
        self.counted.clear()
        if changes:
            self.execute_many(_CHANGE_COUNT, changes)
            emptied = [(name, block) for name, block, change in changes if change < 0]
            self.execute_many("delete from counts where name = ? and block = ? and value = 0", emptied)

    def put_fact(self, name: str, value: str) -> None:
        """Set a fact about the catalog, and replace its previous value."""
        sql = "insert into facts (name, value) values (?, ?) on conflict (name) do update set value = excluded.value"
        self.execute(sql, (name, value))

    def delete_fact(self, name: str) -> None:
        """Remove a fact about the catalog, if it is set."""
        self.execute("delete from facts where name = ?", (name,))


class DamagedTable(NamedTuple):
    """A table that cannot be read in full, or does not agree with its indexes.

    `only_indexes` means that every row is there, so that its indexes can be built again from them.
    """

    table: str
    problem: str
    only_indexes: bool = False


class ChangeBatch:
    """Transactions of one thread whose change hooks run together, at `flush` and at the end of the batch."""

    def __init__(self, run: Callable[[], None]) -> None:
        self._run = run
        self.is_pending = False

    def flush(self) -> None:
        """Run the change hooks now if a transaction of the batch has changed documents since they last ran."""
        if self.is_pending:
            self.is_pending = False
            self._run()


class CommitHooks:
    """Runs the functions that belong to every commit of one database. Add all of them before the first write.

    A commit hook runs within each transaction, last of all; the transaction fails with it. A change hook runs after a
    commit that changed documents, in the thread that committed and before `write` returns. The change is durable by
    then, so what a change hook raises is logged and goes no further.
    """

    def __init__(self) -> None:
        self._commit_hooks: list[Callable[[Transaction], None]] = []
        self._change_hooks: list[Callable[[], None]] = []
        self._thread = threading.local()

    def on_commit(self, hook: Callable[[Transaction], None]) -> None:
        """Call `hook` with every transaction that is about to commit."""
        self._commit_hooks.append(hook)

    def after_change(self, hook: Callable[[], None]) -> None:
        """Call `hook` after every commit that changed documents, or once after a batch of them."""
        self._change_hooks.append(hook)

    def run_before(self, transaction: Transaction) -> None:
        """Run the commit hooks, and store the counts; for implementations of Database."""
        for hook in self._commit_hooks:
            hook(transaction)
        transaction.store_counts()

    def run_after(self, transaction: Transaction) -> None:
        """Run the change hooks, or leave them to the batch of this thread; for implementations of Database."""
        if not transaction.changes_documents:
            return
        batch: ChangeBatch | None = getattr(self._thread, "batch", None)
        if batch is None:
            self._run_change_hooks()
        else:
            batch.is_pending = True

    @contextmanager
    def batch(self) -> Iterator[ChangeBatch]:
        """Run the change hooks once for all commits of the block in this thread. A batch in a batch joins it."""
        outer: ChangeBatch | None = getattr(self._thread, "batch", None)
        if outer is not None:
            yield outer
            return
        batch = self._thread.batch = ChangeBatch(self._run_change_hooks)
        try:
            yield batch
        finally:
            del self._thread.batch
            batch.flush()

    def _run_change_hooks(self) -> None:
        for hook in self._change_hooks:
            try:
                hook()
            except Exception:  # the change is committed: its writer must hear that it succeeded
                _log.exception("a change is committed, but not everything that follows it was done")


class Database(Protocol):
    """A durable database: commits survive a crash and a power failure. Safe to use from several threads.

    Reads see the last commit. Only one write runs at a time over all processes, so revisions are in commit order.
    `hooks` run with every commit of this process.

    All methods raise DatabaseUnavailable and DatabaseFull.
    """

    hooks: CommitHooks
    is_read_only: bool
    """Whether this process cannot write: `write` raises, and `lead` returns false."""
    is_damaged: bool
    """Whether a read or write of this process has found damage on the disk."""
    is_local: bool
    """Whether it is a file on this machine, of which a few rows are read in microseconds."""
    is_away: bool
    """Whether it did not answer the last `ping`, so that reads and writes need not try."""

    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as of the last commit."""
        ...

    def write(self, *, urgent: bool = False, shared: bool = False) -> AbstractContextManager[Transaction]:
        """Run the block in a transaction, which commits durably at its end and rolls back if it raises.

        A `shared` one may commit together with other shared ones that wait for it. It still fails alone. Its block must
        read through the transaction, because a read of the database does not see the writes before it.

        On a full disk, an urgent one may use the space that a SQLite database of the registry profile reserves. For
        small changes that must never wait for an operator: issuing and revoking credentials.
        """
        ...

    def ping(self) -> None:
        """Raise DatabaseUnavailable if it does not answer within about a second. For one thread of a process."""
        ...

    def changed(self, seconds: float) -> bool:
        """Wait at most `seconds` for a commit by any process since the previous call; return whether there may be one.

        For one thread of a process. The first call returns true at once.
        """
        ...

    def claim(self, name: str) -> AbstractContextManager[bool]:
        """Claim a piece of work for the block; yield false if another thread or process has it.

        The claims of a process end with it. A claim may also be lost with a connection, so the claimed work must be
        idempotent.
        """
        ...

    def lead(self) -> bool:
        """Return whether this process is the leader; try to become it if there is none.

        It stays the leader until it closes the database or loses its connection, so call this every few seconds.
        """
        ...

    def damaged_tables(self) -> list[DamagedTable]:
        """Return the tables that are damaged on the disk. This reads all of them, which takes long."""
        ...

    def look_for_damage(self) -> None:
        """Set `is_damaged` if pages are damaged that no request has met yet, where this is quick enough."""
        ...

    def unchecked_damage(self) -> str | None:
        """Return what `damaged_tables` cannot check, and what to do about it; None if it checks everything."""
        ...

    def recreate_table(self, table: str) -> None:
        """Replace a damaged table by an empty one, without reading it. No other process may use the database."""
        ...

    def reindex_table(self, table: str) -> None:
        """Build the indexes of a table again from its rows."""
        ...

    def close(self) -> None:
        """Close all connections. No other thread may use the database any more."""
        ...
