"""The SQLite database, through sqlite-utils: one file, one writer, and a reader for each thread."""

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from registry.database import file_claims
from registry.database.digests import TableDigest, differences, table_digests
from registry.database.disk_reserve import DiskReserve
from registry.database.integrity import damaged_tables, is_damaged, recreate_table, refuse_damaged, reindex_table
from registry.database.shared_commits import SharedCommits
from registry.database.sqlite_library import sqlite_utils
from registry.database.sqlite_schema import check_header, create, migrate, write_transaction
from registry.db import (
    CommitHooks,
    DamagedTable,
    DatabaseFull,
    DatabaseUnavailable,
    DatabaseUnusable,
    Parameters,
    Row,
    Transaction,
    read_fact,
)
from registry.runtime.event_loop import check_call
from search.steps import in_step, step

_log = logging.getLogger("registry.database")

_POLL_SECONDS = 0.05
"""How often the file is checked for commits of other processes, which takes a few microseconds."""

_UNAVAILABLE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_IOERR,
    }
)


_BACKUP_BUSY_SECONDS = 30.0


class SqliteTransaction(Transaction):
    """A transaction on the writing connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection

    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run a statement and return the number of changed rows."""
        return self._connection.execute(sql, parameters).rowcount

    def execute_many(self, sql: str, rows: Sequence[Parameters]) -> int:
        """Run a statement for every row of parameters and return the number of changed rows."""
        return self._connection.executemany(sql, rows).rowcount

    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as this transaction sees them."""
        return self._connection.execute(sql, parameters).fetchall()


class _SqliteCommits(SharedCommits[sqlite3.Connection]):
    """The writers of one connection, each of which has the write lock of the file from its start."""

    def __init__(self, writer: sqlite3.Connection) -> None:
        super().__init__()
        self._writer = writer

    def begin(self) -> sqlite3.Connection:
        # Immediate, since a read transaction that becomes a write fails at once after another write.
        self._writer.execute("begin immediate")
        return self._writer

    def is_in_transaction(self, connection: sqlite3.Connection) -> bool:
        return connection.in_transaction

    def execute(self, connection: sqlite3.Connection, sql: str) -> None:
        connection.execute(sql)

    def release(self, connection: sqlite3.Connection) -> None:
        """Keep the connection for the next writer."""


class SqliteDatabase:
    """`registry.db.Database` as a SQLite file in WAL mode with synchronous=FULL.

    Reads run on a connection of the calling thread. Each write is a `BEGIN IMMEDIATE` transaction. It waits
    `busy_seconds` for a lock of another process, then raises DatabaseUnavailable.
    """

    is_local = True

    def __init__(self, path: Path, busy_seconds: float = 5.0) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self.hooks = CommitHooks()
        self.is_read_only = False
        self.is_damaged = False
        self.is_away = False
        self._reserve = DiskReserve(path.with_name(f"{path.name}-reserve"))
        self._local = threading.local()
        self._open: list[sqlite_utils.Database] = []
        try:
            if path.exists():
                check_header(path)
            else:
                create(path)
            writer = self._connect()
            migrate(writer)
            self._commits = _SqliteCommits(writer)
        except BaseException as error:
            self.close()
            if isinstance(error, sqlite3.DatabaseError):
                _translate_error(error)
            raise

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        database = sqlite_utils.Database(connection)
        database.enable_wal()
        connection.execute("pragma synchronous = full")
        connection.execute("pragma foreign_keys = on")
        self._open.append(database)
        return connection

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    @step("database read")
    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as of the last commit."""
        check_call("the database file", is_file=True)
        try:
            return self._reader().execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            self._translate(error)
            raise

    @contextmanager
    def write(self, *, urgent: bool = False, shared: bool = False) -> Iterator[Transaction]:
        """Run the block in a transaction, which commits durably at its end and rolls back if it raises."""
        check_call("a write", is_file=False)
        try:
            with in_step("database write"), self._commits.write(SqliteTransaction, shared=shared) as transaction:
                if urgent:
                    self._reserve.make_room()
                else:
                    self._reserve.check()
                yield transaction
                self.hooks.run_before(transaction)
        except sqlite3.DatabaseError as error:
            if urgent and _code(error) == sqlite3.SQLITE_FULL:  # a quota, which the free space does not show
                self._reserve.make_room(is_full=True)  # for the next attempt
            self._translate(error)
            raise
        self.hooks.run_after(transaction)

    def _translate(self, error: sqlite3.DatabaseError) -> None:
        try:
            _translate_error(error)
        except DatabaseUnusable:
            self.is_damaged = True
            raise

    def reserve_space(self) -> None:
        """Reserve space for urgent writes from now on, if the disk has it."""
        if not self._reserve.fill():
            _log.warning("the disk is almost full: no space can be reserved for tokens and keys")

    def ping(self) -> None:
        """Raise DatabaseUnavailable if the file cannot be read."""
        self.read("select value from counter")

    def changed(self, seconds: float) -> bool:
        """Wait at most `seconds` for a commit since the previous call; return whether there was one."""
        deadline = time.monotonic() + seconds
        while (version := self.read("pragma data_version")[0][0]) == getattr(self._local, "version", None):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        self._local.version = version
        return True

    @contextmanager
    def claim(self, name: str) -> Iterator[bool]:
        """Claim a piece of work for the block; yield false if another thread or process has it."""
        with contextlib.ExitStack() as stack:
            try:
                folder = self.path.with_name(f"{self.path.name}-claims")
                is_claimed = stack.enter_context(file_claims.hold(folder, name))
            except OSError as error:
                raise DatabaseUnavailable(str(error)) from error
            yield is_claimed

    def lead(self) -> bool:
        """Return true: the lock of the data directory and the worker number decide who is the leader."""
        return True

    def damaged_tables(self) -> list[DamagedTable]:
        """Return the tables that are damaged on the disk. This reads all of them, which takes long."""
        return damaged_tables(self.path)

    def look_for_damage(self) -> None:
        """Set `is_damaged` if pages are damaged. This reads the whole file."""
        self.is_damaged = self.is_damaged or is_damaged(self.path)

    def unchecked_damage(self) -> str | None:
        """Return None: everything is checked."""
        return None

    def recreate_table(self, table: str) -> None:
        """Replace a damaged table by an empty one. No other process may use the database."""
        recreate_table(self.path, table)

    def reindex_table(self, table: str) -> None:
        """Build the indexes of a table again from its rows."""
        reindex_table(self.path, table)

    def close(self) -> None:
        """Close all connections. No other thread may use the database any more."""
        for database in self._open:
            database.close()
        self._open.clear()


def catalog_id(path: Path) -> str:
    """Return the id of the catalog in a file."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return str(read_fact(SqliteTransaction(connection), "catalog_id"))


def installed_skills(path: Path) -> int:
    """Return the number of skills of the catalog in a file that have folders."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        rows = SqliteTransaction(connection).read("select count(*) from skills where folder is not null")
        return int(rows[0][0])


def file_digests(path: Path) -> list[TableDigest]:
    """Return the digests of the tables of a file, with any schema version, without changing it.

    Raises DatabaseError.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return table_digests(SqliteTransaction(connection).read, is_sqlite=True)
    except sqlite3.DatabaseError as error:
        _translate_error(error)
        raise


def backup(path: Path, target: Path, on_snapshot: Callable[[], None] = lambda: None) -> list[TableDigest]:
    """Copy a database in use, with any schema version, as a consistent snapshot.

    `on_snapshot` runs at the moment of the snapshot while all writers wait, so it must be quick. Files that it copies
    are consistent with the snapshot. The copy is one file, also while it is read, and only its owner can read it.
    Returns the digests of the tables, which are the same in the copy. Raises DatabaseUnusable, DatabaseUnavailable,
    DatabaseFull.
    """
    check_header(path)
    target.touch(mode=0o600, exist_ok=False)
    with (
        closing(sqlite3.connect(path, timeout=_BACKUP_BUSY_SECONDS, isolation_level=None)) as writer,
        closing(sqlite3.connect(path, timeout=_BACKUP_BUSY_SECONDS, isolation_level=None)) as reader,
        closing(sqlite3.connect(target)) as copy,
    ):
        try:
            with write_transaction(writer):
                on_snapshot()
                reader.execute("begin")
                reader.execute(
                    "select 1 from sqlite_schema"
                ).fetchone()  # a read transaction gets its snapshot with the first read
            reader.backup(copy)
            # A copy in WAL mode would get files beside it from each reader, and could not be read without them.
            copy.execute("pragma journal_mode = delete")
            refuse_damaged(target)
            digests = table_digests(SqliteTransaction(reader).read, is_sqlite=True)
        except sqlite3.DatabaseError as error:
            _translate_error(error)
            raise
    if differing := differences(digests, file_digests(target)):
        raise DatabaseUnusable(f"the copy of the database differs from it: {'; '.join(differing)}")
    return digests


def _translate_error(error: sqlite3.DatabaseError) -> None:
    """Translate an error to those of `registry.db`; return if it is a programming error."""
    code = _code(error)
    if code == sqlite3.SQLITE_FULL:
        raise DatabaseFull("the disk of the database is full: make room on it") from error
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        raise DatabaseUnusable(
            "the database is damaged: 'skill-registry admin fsck' names the tables and says how to recover them"
        ) from error
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        raise DatabaseUnavailable(
            f"the database cannot be used ({error}): this user must be able to write to its file and to its folder"
        ) from error
    if code in _UNAVAILABLE:
        raise DatabaseUnavailable(str(error)) from error


def _code(error: sqlite3.DatabaseError) -> int:
    """Return the primary code of an error: the low byte of the extended one."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
