"""The seam to the database that holds the truth: what every implementation of it guarantees.

The SQL that passes is understood by SQLite and PostgreSQL alike: `?` stands for a value and stands nowhere else,
`on conflict` names the key and qualifies columns of the table, texts compare byte by byte. `registry.database` has the
implementations, and `open_database`, which chooses one.
"""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

_log = logging.getLogger("registry.db")

Row = tuple[Any, ...]
Parameters = Sequence[Any]

COPYING = "copy_of"
"""The fact that marks a copy of a catalog that is not whole yet; its value is the catalog that is copied."""


class DatabaseError(Exception):
    """The database did not do what it was asked to, through no fault of the caller."""


class DatabaseUnusable(DatabaseError):
    """The database cannot be used at all; it was not touched. The message says why."""


class DatabaseUnavailable(DatabaseError):
    """The database cannot be read or written just now: it is busy, out of reach, or its disk fails."""


class DatabaseFull(DatabaseError):
    """There is no room left to write to."""


class Transaction(ABC):
    """One open write transaction.

    Attributes:
        touched: The ids of what it changes, for the audit log.
        changes_documents: Whether it changes what search reads.
    """

    def __init__(self) -> None:
        self.touched: list[str] = []
        self.changes_documents = False

    @abstractmethod
    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run a statement and return how many rows it changed."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Sequence[Parameters]) -> int:
        """Run a statement for every row of parameters and return how many rows it changed."""

    @abstractmethod
    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as this transaction sees them."""

    def next_number(self, count: int = 1) -> int:
        """Number `count` changes in commit order and return the last of the numbers."""
        return int(self.read("update counter set value = value + ? returning value", (count,))[0][0])

    def put_fact(self, name: str, value: str) -> None:
        """Keep a fact about the catalog as a whole, in place of what was known before."""
        sql = "insert into facts (name, value) values (?, ?) on conflict (name) do update set value = excluded.value"
        self.execute(sql, (name, value))


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
        """Run the commit hooks; for implementations of Database."""
        for hook in self._commit_hooks:
            hook(transaction)

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
    """A durable database: what was committed survives a crash and a power cut. Safe to use from several threads.

    Reads see the last commit. Writes run one at a time, over all processes, so that numbers drawn in them are in commit
    order. `hooks` run with every commit of this process.

    All methods raise DatabaseUnavailable and DatabaseFull.
    """

    hooks: CommitHooks
    is_read_only: bool
    """Whether nothing can be written from here, so that `write` raises and nobody leads."""

    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as of the last commit."""
        ...

    def write(self) -> AbstractContextManager[Transaction]:
        """Run the block in a transaction: committed durably when it ends, rolled back when it raises."""
        ...

    def changed(self, seconds: float) -> bool:
        """Wait for a commit of anybody since the call before, `seconds` at most; return whether there may be one.

        For one thread of a process. The first call returns true at once.
        """
        ...

    def claim(self, name: str) -> AbstractContextManager[bool]:
        """Claim a piece of work for the block: true where it was to be had, false where any thread or process has it.

        A process that dies has no claims any more. One may be lost with a connection: what is done under it must bear
        being done twice.
        """
        ...

    def lead(self) -> bool:
        """Return whether this process is the one that does what only one may do; try to become it if none is.

        It stays so until it closes the database, or loses it: to be asked again every few seconds.
        """
        ...

    def close(self) -> None:
        """Close every connection; call when no other thread uses the database any more."""
        ...
