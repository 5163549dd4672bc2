"""The PostgreSQL database, through psycopg, shared by several replicas."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout

from registry.config.groups import DatabaseSettings
from registry.database import postgres_integrity
from registry.database.dialect import statement, text
from registry.database.halfvec import halfvec_type, register
from registry.database.postgres_claims import PostgresClaims
from registry.database.postgres_connection import (
    BoundedConnection,
    Connection,
    NoAnswer,
    connect,
    connection_options,
    limit,
)
from registry.database.postgres_notifications import CHANNEL, CommitNotifications
from registry.database.postgres_schema import check_schema, migrate
from registry.database.shared_commits import SharedCommits
from registry.db import (
    AWAY,
    CommitHooks,
    DamagedTable,
    DatabaseFull,
    DatabaseUnavailable,
    DatabaseUnusable,
    Parameters,
    Row,
    Transaction,
)
from registry.runtime.event_loop import check_call
from search.steps import in_step, step

_log = logging.getLogger("registry.database")

# Keys of advisory locks, which apply to one database of the server. Arbitrary numbers that other programs do not use.
_WRITE_LOCK = 0x536B_526A_0001
_LEADER_LOCK = 0x536B_526A_0002

_READERS = 8
_WAIT_SECONDS = 2.0
_OUTAGE_WAIT_SECONDS = 0.2
_OUTAGE_SECONDS = 1.0
_RECONNECT_SECONDS = 5.0
"""How long a pool tries to reconnect by itself. After that, the next request for a connection tries."""
_PING_SECONDS = 1.0
_LEAD_SECONDS = 5.0
_DEAD = (psycopg.OperationalError, psycopg.InterfaceError)
_DEAD_STATES = frozenset({None, "57P01", "57P02", "57P03", "57P05"})
"""The states of errors of a dead connection: without an answer, and ended by an administrator, a crash or idleness."""


class PostgresTransaction(Transaction):
    """A transaction that holds the write lock."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run a statement and return the number of changed rows."""
        return self._connection.execute(statement(sql), _values(parameters)).rowcount

    def execute_many(self, sql: str, rows: Sequence[Parameters]) -> int:
        """Run a statement for every row of parameters and return the number of changed rows."""
        with self._connection.cursor() as cursor:
            cursor.executemany(statement(sql), [_values(row) for row in rows])
            return cursor.rowcount if rows else 0

    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as this transaction sees them."""
        return _rows(self._connection, sql, parameters)


class _PostgresCommits(SharedCommits[Connection]):
    """The writers of this process, who need only one connection. The write lock excludes those of other processes."""

    def __init__(self, pool: ConnectionPool[Connection], busy_seconds: float, wait: Callable[[], float]) -> None:
        super().__init__(busy_seconds)
        self._pool = pool
        self._lock_timeout = f"{busy_seconds * 1000:.0f}"
        self._wait = wait

    def begin(self) -> Connection:
        connection = self._pool.getconn(self._wait())
        try:
            connection.execute("begin")
            connection.execute("select set_config('lock_timeout', %s, true)", (self._lock_timeout,))
            connection.execute("select pg_advisory_xact_lock(%s), pg_notify(%s, '')", (_WRITE_LOCK, CHANNEL))
        except BaseException:
            self._pool.putconn(connection)  # which rolls back
            raise
        return connection

    def is_in_transaction(self, connection: Connection) -> bool:
        return connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR)

    def execute(self, connection: Connection, sql: str) -> None:
        connection.execute(sql.encode())

    def release(self, connection: Connection) -> None:
        self._pool.putconn(connection)


class PostgresDatabase:
    """`registry.db.Database` as a PostgreSQL database. `url` is a libpq URL, with its options for hosts, files and TLS.

    Reads use a small connection pool, and are repeated on a dead connection. Writers queue for one advisory lock, which
    ends with the transaction; after `lock_seconds` they raise DatabaseUnavailable. While the server cannot be reached,
    callers fail fast and only one attempt a second waits for it. With `read_only`, the server may be a standby.

    `settings` has the time-outs of statements and answers. None is for commands, of which a statement may take long.
    """

    is_local = False

    def __init__(self, url: str, settings: DatabaseSettings | None = None, *, read_only: bool = False) -> None:
        self.hooks = CommitHooks()
        self.is_read_only = read_only
        self.is_damaged = False
        self.is_away = False
        self._limits = settings
        settings = settings or DatabaseSettings()
        self._options = connection_options(url, settings, read_only=read_only)
        self._down_until = 0.0
        self._leader_connection: Connection | None = None
        self._probe: Connection | None = None
        self._notifications = CommitNotifications(self._options, settings.answer_seconds)
        self._claims = PostgresClaims(self._options, settings.answer_seconds)
        try:
            with connect(self._options) as connection:
                (check_schema if read_only else migrate)(connection)
                self._halfvec = halfvec_type(connection)
        except psycopg.Error as error:
            raise DatabaseUnusable(f"the PostgreSQL database cannot be used: {_first_line(error)}") from None
        self._readers = self._pool("readers", _READERS)
        # A write must not be retried, so its connection is checked before.
        self._writers = self._pool("writer", 1, check=ConnectionPool.check_connection)
        self._commits = _PostgresCommits(self._writers, settings.lock_seconds, self._wait_seconds)

    def _pool(self, name: str, size: int, **options: Any) -> ConnectionPool[Connection]:
        return ConnectionPool(
            connection_class=BoundedConnection,
            kwargs=self._options,
            name=name,
            min_size=1,
            max_size=size,
            configure=self._configure,
            reconnect_timeout=_RECONNECT_SECONDS,
            open=True,
            **options,
        )

    def _configure(self, connection: Connection) -> None:
        if self._limits is not None:
            limit(connection, self._limits)
        register(connection, self._halfvec)

    def connect(self) -> Connection:
        """Return a new connection for a long task. The caller closes it. Raises psycopg.Error."""
        return connect(self._options)

    def ping(self) -> None:
        """Raise DatabaseUnavailable if the server does not answer within a second. For one thread."""
        try:
            if self._probe is None:
                self._probe = connect(self._options, _PING_SECONDS)
            self._probe.execute("select 1")
        except psycopg.Error as error:
            self._close_probe()
            raise DatabaseUnavailable(_first_line(error)) from error

    def _close_probe(self) -> None:
        if self._probe is not None:
            with contextlib.suppress(psycopg.Error):
                self._probe.close()
            self._probe = None

    def _wait_seconds(self) -> float:
        return _OUTAGE_WAIT_SECONDS if self._down_until else _WAIT_SECONDS

    @step("database read")
    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as of the last commit."""
        check_call("PostgreSQL", is_file=False)
        with self._translate_errors():
            for _ in range(_READERS):  # each of the pool may be dead
                try:
                    return self._read(sql, parameters)
                except _DEAD as error:
                    if isinstance(error, NoAnswer | PoolTimeout) or error.sqlstate not in _DEAD_STATES:
                        raise
            return self._read(sql, parameters)

    def _read(self, sql: str, parameters: Parameters) -> list[Row]:
        with self._readers.connection(self._wait_seconds()) as connection:
            return _rows(connection, sql, parameters)

    @contextmanager
    def write(self, *, urgent: bool = False, shared: bool = False) -> Iterator[Transaction]:
        """Run the block in a transaction, which commits durably at its end and rolls back if it raises.

        `urgent` changes nothing: the disk is that of the server.
        """
        check_call("PostgreSQL", is_file=False)
        if self.is_read_only:
            raise DatabaseUnavailable("this service is read-only (server.read_only)")
        begun = self._commits.write(PostgresTransaction, shared=shared)
        with in_step("database write"), self._translate_errors(), begun as transaction:
            yield transaction
            self.hooks.run_before(transaction)
        self.hooks.run_after(transaction)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate psycopg's errors to those of `registry.db`. Programming errors stay as they are."""
        if self.is_away or time.monotonic() < self._down_until:
            raise DatabaseUnavailable(AWAY)
        try:
            yield
        except psycopg.errors.DiskFull as error:
            raise DatabaseFull(_first_line(error)) from error
        except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
            self.is_damaged = True
            raise DatabaseUnusable(f"the database is damaged: {_first_line(error)}") from error
        except (*_DEAD, psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.IdleInTransactionSessionTimeout) as error:
            if error.sqlstate is None:  # no answer from the server, so it cannot be reached
                self._down_until = time.monotonic() + _OUTAGE_SECONDS
            raise DatabaseUnavailable(_first_line(error)) from error
        self._down_until = 0.0

    def changed(self, seconds: float) -> bool:
        """Wait at most `seconds` for a commit since the previous call; return whether there may be one."""
        return self._notifications.wait(seconds)

    @contextmanager
    def claim(self, name: str) -> Iterator[bool]:
        """Claim a piece of work for the block; yield false if another thread or process has it."""
        with contextlib.ExitStack() as stack:
            with self._translate_errors():
                is_claimed = stack.enter_context(self._claims.hold(name))
            yield is_claimed

    def lead(self) -> bool:
        """Return whether this process is the leader. The server releases the leader lock with its connection."""
        if self.is_read_only:
            return False
        try:
            if self._leader_connection is None:
                self._leader_connection = connect(self._options, _LEAD_SECONDS)
            sql = (
                "select exists (select 1 from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'"
                " and objsubid = 1 and ((classid::bigint << 32) | objid::bigint) = %s) or pg_try_advisory_lock(%s)"
            )
            return bool(_rows(self._leader_connection, sql.replace("%s", "?"), (_LEADER_LOCK, _LEADER_LOCK))[0][0])
        except psycopg.Error as error:
            _log.warning("this process cannot take part in the leader election: %s", _first_line(error))
            self._close_leader_connection()
            return False

    def _close_leader_connection(self) -> None:
        if self._leader_connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._leader_connection.close()
            self._leader_connection = None

    def damaged_tables(self) -> list[DamagedTable]:
        """Return the tables that are damaged on the disk. This reads all of them, which takes long."""
        with self._translate_errors(), closing(self.connect()) as connection:
            return postgres_integrity.damaged_tables(connection)

    def look_for_damage(self) -> None:
        """Do nothing: the server checks the pages that it reads, and to read all of them takes too long."""

    def unchecked_damage(self) -> str | None:
        """Return what `damaged_tables` cannot check without the extension amcheck; None if it checks everything."""
        with self._translate_errors(), closing(self.connect()) as connection:
            return postgres_integrity.unchecked_damage(connection)

    def recreate_table(self, table: str) -> None:
        """Replace a damaged table by an empty one, without reading it."""
        with self._translate_errors(), closing(self.connect()) as connection:
            postgres_integrity.recreate_table(connection, table)

    def reindex_table(self, table: str) -> None:
        """Build the indexes of a table again from its rows."""
        with self._translate_errors(), closing(self.connect()) as connection:
            postgres_integrity.reindex_table(connection, table)

    def close(self) -> None:
        """Close all connections. No other thread may use the database any more."""
        self._close_leader_connection()
        self._close_probe()
        self._notifications.close()
        self._claims.close()
        for pool in (self._readers, self._writers):
            pool.close()


def _values(parameters: Parameters) -> list[Any]:
    return [text(value) if isinstance(value, str) else value for value in parameters]


def _rows(connection: Connection, sql: str, parameters: Parameters) -> list[Row]:
    # Binary, since the text format doubles the size of vectors.
    return connection.execute(statement(sql), _values(parameters), binary=True).fetchall()


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0]
