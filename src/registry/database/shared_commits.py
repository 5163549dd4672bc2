"""Shared commits: writers that wait for one another put their changes into one transaction of the database.

A commit waits for the disk, and a small write is mostly that wait. While one writer runs, others come. A writer that
finds some leaves its transaction open for the next, and the last of them commits for all. No writer waits for others to
come, so a single writer takes as long as before.
"""

import contextlib
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from registry.db import DatabaseUnavailable, Transaction

_Connection = TypeVar("_Connection")


class _Open(Generic[_Connection]):
    """An open transaction of the database, and how it ended."""

    def __init__(self, connection: _Connection) -> None:
        self.connection = connection
        self.writers = 0
        """How many writers have changes in it, without the one whose turn it is."""
        self.before_commit: dict[str, Callable[[], None]] = {}
        self.ended = threading.Event()
        self.error: BaseException | None = None

    def wait(self) -> None:
        """Wait for the end. Raises what the commit raised."""
        self.ended.wait()
        if self.error is not None:
            raise self.error


class _Waiting:
    """A writer that waits for its turn. `turn` is released when it comes."""

    def __init__(self, *, shared: bool) -> None:
        self.shared = shared
        self.turn = threading.Lock()
        self.turn.acquire()


class SharedCommits(ABC, Generic[_Connection]):
    """The turns of the writers of one process, first come, first served: no writer can write on while others wait.

    A writer waits at most `seconds` for its turn; None means forever.

    Each writer that joins others has a savepoint, so a write that fails changes nothing and fails alone. What it has
    read may come from the writers before it, so its failure, too, waits for their commit. If the commit fails, all of
    them fail with the same error.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._turns = threading.Lock()  # guards the next two
        self._is_busy = False
        self._queue: deque[_Waiting] = deque()
        self._open: _Open[_Connection] | None = None  # belongs to the writer whose turn it is

    @abstractmethod
    def begin(self) -> _Connection:
        """Begin a transaction of the database."""

    @abstractmethod
    def is_in_transaction(self, connection: _Connection) -> bool:
        """Return whether the transaction can go on: some errors end it."""

    @abstractmethod
    def execute(self, connection: _Connection, sql: str) -> None:
        """Run a statement that controls the transaction."""

    @abstractmethod
    def release(self, connection: _Connection) -> None:
        """Give the connection back after the end of the transaction."""

    @contextmanager
    def write(self, make: Callable[[_Connection], Transaction], *, shared: bool) -> Iterator[Transaction]:
        """Run the block as a writer, and return when its changes are durable.

        If it is `shared`, it joins the writers before it, and those after it may join it.
        """
        self._take_turn(shared=shared)
        try:
            joined = self._joined(shared=shared)
        except BaseException:
            self._pass_turn()
            raise
        try:
            with self._savepoint(joined):
                transaction = make(joined.connection)
                transaction.before_commit = joined.before_commit
                yield transaction
        finally:
            self._end_turn(joined, shared=shared)
            joined.wait()

    def _take_turn(self, *, shared: bool) -> None:
        with self._turns:
            if not self._is_busy:
                self._is_busy = True
                return
            self._queue.append(waiting := _Waiting(shared=shared))
        try:
            came = waiting.turn.acquire(timeout=-1 if self._seconds is None else self._seconds)
        except BaseException:  # an interrupt
            if not self._has_left(waiting):
                if self._open is not None:
                    self._commit(self._open)
                self._pass_turn()
            raise
        if not came and self._has_left(waiting):
            raise DatabaseUnavailable("other writes took too long: try again later")

    def _has_left(self, waiting: _Waiting) -> bool:
        """Remove a writer from the queue; return false if its turn has come meanwhile."""
        with self._turns, contextlib.suppress(ValueError):
            self._queue.remove(waiting)
            return True
        return False

    def _joined(self, *, shared: bool) -> _Open[_Connection]:
        if self._open is not None and not shared:
            self._commit(self._open)
        if self._open is None:
            self._open = _Open(self.begin())
        return self._open

    def _end_turn(self, joined: _Open[_Connection], *, shared: bool) -> None:
        """Leave the transaction to a writer that waits to join it, else commit it."""
        with self._turns:
            if shared and any(waiting.shared for waiting in self._queue):
                self._hand_over()
                return
        if not joined.ended.is_set():
            self._commit(joined)
        self._pass_turn()

    def _pass_turn(self) -> None:
        with self._turns:
            self._hand_over()

    def _hand_over(self) -> None:
        """Give the turn to the writer that has waited longest, which takes it even if its time is over just then."""
        if self._queue:
            self._queue.popleft().turn.release()
        else:
            self._is_busy = False

    @contextmanager
    def _savepoint(self, joined: _Open[_Connection]) -> Iterator[None]:
        is_first = joined.writers == 0
        try:
            if not is_first:
                self.execute(joined.connection, "savepoint writer")
            yield
            if not is_first:
                self.execute(joined.connection, "release savepoint writer")
        except BaseException as error:
            if is_first:
                self._end(joined)
            else:
                self._undo(joined, error)
            raise
        joined.writers += 1

    def _undo(self, joined: _Open[_Connection], error: BaseException) -> None:
        """Undo the changes of one writer; of all, with its error, if the error has ended the transaction."""
        try:
            if not self.is_in_transaction(joined.connection):
                raise error
            self.execute(joined.connection, "rollback to savepoint writer")
            self.execute(joined.connection, "release savepoint writer")
        except BaseException as problem:
            joined.error = problem
            self._end(joined)

    def _commit(self, joined: _Open[_Connection]) -> None:
        try:
            for action in joined.before_commit.values():
                action()
            self.execute(joined.connection, "commit")
        except BaseException as error:  # every writer of the transaction raises it
            joined.error = error
        self._end(joined)

    def _end(self, joined: _Open[_Connection]) -> None:
        """End the transaction, with a rollback unless it is committed, and tell its writers."""
        self._open = None
        try:
            if self.is_in_transaction(joined.connection):
                self.execute(joined.connection, "rollback")
        except BaseException as error:  # the connection is broken, so nothing is committed
            joined.error = joined.error or error
        finally:
            self.release(joined.connection)
            joined.ended.set()
