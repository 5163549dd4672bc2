"""The seam to the database that holds the truth: what every implementation of it guarantees.

The SQL that passes is understood by SQLite and PostgreSQL alike: `?` stands for a value and stands nowhere else,
`on conflict` names the key and qualifies columns of the table, texts compare byte by byte. `registry.database` has the
implementations, and `open_database`, which chooses one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

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
    """One open write transaction. `touched` collects the ids of what it changes, for the audit log."""

    def __init__(self) -> None:
        self.touched: list[str] = []

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
        sql = "insert into facts values (?, ?) on conflict (name) do update set value = excluded.value"
        self.execute(sql, (name, value))


class Database(Protocol):
    """A durable database: what was committed survives a crash and a power cut. Safe to use from several threads.

    Reads see the last commit. Writes run one at a time, over all processes, so that numbers drawn in them are in commit
    order. `before_commit` is called with every transaction that is about to commit.

    All methods raise DatabaseUnavailable and DatabaseFull.
    """

    before_commit: Callable[[Transaction], None]
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
