"""The interface of the database: the guarantees of every implementation.

SQLite and PostgreSQL both accept the SQL of the callers. `?` is always a placeholder, `on conflict` names the key and
qualifies columns of the table, and texts compare byte by byte. `registry.database` has the implementations, and
`open_database` chooses one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = tuple[Any, ...]
Parameters = Sequence[Any]

COPYING = "copy_of"
"""The fact that marks an incomplete copy of a catalog; its value is the id of the copied catalog."""


class DatabaseError(Exception):
    """An operation of the database failed, through no fault of the caller."""


class DatabaseUnusable(DatabaseError):
    """The database cannot be used, and was not changed; the message says why."""


class DatabaseUnavailable(DatabaseError):
    """The database cannot be read or written now: it is busy or unreachable, or its disk fails."""


class DatabaseFull(DatabaseError):
    """The disk of the database is full."""


class Transaction(ABC):
    """One open write transaction. `touched` collects the ids of the changed objects, for the audit log."""

    def __init__(self) -> None:
        self.touched: list[str] = []

    @abstractmethod
    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run a statement and return the number of changed rows."""

    @abstractmethod
    def execute_many(self, sql: str, rows: Sequence[Parameters]) -> int:
        """Run a statement for every row of parameters and return the number of changed rows."""

    @abstractmethod
    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as this transaction sees them."""

    def next_number(self, count: int = 1) -> int:
        """Draw `count` change numbers in commit order, and return the last of them."""
        return int(self.read("update counter set value = value + ? returning value", (count,))[0][0])

    def put_fact(self, name: str, value: str) -> None:
        """Set a fact about the catalog, and replace its previous value."""
        sql = "insert into facts values (?, ?) on conflict (name) do update set value = excluded.value"
        self.execute(sql, (name, value))


class Database(Protocol):
    """A durable database: commits survive a crash and a power failure. Safe to use from several threads.

    Reads see the last commit. Only one write runs at a time over all processes, so change numbers are in commit order.
    `before_commit` is called with every transaction that is about to commit.

    All methods raise DatabaseUnavailable and DatabaseFull.
    """

    before_commit: Callable[[Transaction], None]
    is_read_only: bool
    """Whether this process cannot write: `write` raises, and `lead` returns false."""

    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as of the last commit."""
        ...

    def write(self) -> AbstractContextManager[Transaction]:
        """Run the block in a transaction, which commits durably at its end and rolls back if it raises."""
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

    def close(self) -> None:
        """Close all connections. No other thread may use the database any more."""
        ...
