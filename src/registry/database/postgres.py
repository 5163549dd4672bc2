"""PostgreSQL through psycopg: one truth for several replicas."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool

from registry.database.dialect import statement, text
from registry.database.halfvec import halfvec_type, register
from registry.database.postgres_claims import PostgresClaims
from registry.database.postgres_notifications import CHANNEL, CommitNotifications
from registry.database.postgres_schema import check_schema, migrate
from registry.db import DatabaseFull, DatabaseUnavailable, DatabaseUnusable, Parameters, Row, Transaction

_log = logging.getLogger("registry.database")

Connection = psycopg.Connection[Row]

# Keys of advisory locks, which count for one database of the server: arbitrary, and apart from other programs'.
_WRITING = 0x536B_526A_0001
_LEADING = 0x536B_526A_0002

_READERS = 8
_WAIT_SECONDS = 2.0
_WAIT_IN_OUTAGE_SECONDS = 0.2
_REST_SECONDS = 1.0
_RECONNECT_SECONDS = 5.0
"""How long a pool tries to connect by itself, ever more seldom; afterwards it does when a connection is asked for."""
_CONNECT: dict[str, Any] = {
    "autocommit": True,
    "client_encoding": "utf8",
    "connect_timeout": 5,
    "application_name": "skill-registry",
    # A server that is gone without a word is noticed, and so is a leader by the server.
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
    "options": "-c synchronous_commit=on -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=5"
    " -c tcp_keepalives_count=2",
}
_VECTOR_OPTIONS = "-c hnsw.ef_search=120 -c hnsw.scan_mem_multiplier=4"
"""How well the index of vectors is searched; what `options` in the URL says goes before it."""


class PostgresTransaction(Transaction):
    """A transaction that holds the lock of all writers."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run a statement and return how many rows it changed."""
        return self._connection.execute(statement(sql), _values(parameters)).rowcount

    def execute_many(self, sql: str, rows: Sequence[Parameters]) -> int:
        """Run a statement for every row of parameters and return how many rows it changed."""
        with self._connection.cursor() as cursor:
            cursor.executemany(statement(sql), [_values(row) for row in rows])
            return cursor.rowcount if rows else 0

    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as this transaction sees them."""
        return _rows(self._connection, sql, parameters)


class PostgresDatabase:
    """`registry.db.Database` as a PostgreSQL database: `url` is libpq's, with what it knows of hosts, files and TLS.

    Reads take a connection out of a small pool and are tried again once where that turns out to be dead. Writers queue
    for one advisory lock that ends with the transaction; after `busy_seconds` DatabaseUnavailable is raised. While the
    server cannot be reached nobody waits for it more than once a second. With `read_only` it may be a standby.
    """

    def __init__(self, url: str, busy_seconds: float = 5.0, *, read_only: bool = False) -> None:
        self.before_commit: Callable[[Transaction], None] = lambda transaction: None
        self.is_read_only = read_only
        self._options = _options(url, read_only=read_only)
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._down_until = 0.0
        self._leading: Connection | None = None
        self._news = CommitNotifications(self._options)
        self._claims = PostgresClaims(self._options)
        try:
            with psycopg.connect(**self._options) as connection:
                (check_schema if read_only else migrate)(connection)
                self._halfvec = halfvec_type(connection)
        except psycopg.Error as error:
            raise DatabaseUnusable(f"the PostgreSQL database cannot be used: {_first_line(error)}") from None
        self._readers = self._pool("readers", _READERS)
        # A write must not be tried twice, so its connection is tried before.
        self._writers = self._pool("writer", 1, check=ConnectionPool.check_connection)

    def _pool(self, name: str, size: int, **options: Any) -> ConnectionPool[Connection]:
        return ConnectionPool(
            kwargs=self._options,
            name=name,
            min_size=1,
            max_size=size,
            configure=lambda connection: register(connection, self._halfvec),
            reconnect_timeout=_RECONNECT_SECONDS,
            open=True,
            **options,
        )

    def connect(self) -> Connection:
        """Return a connection of the caller's own, for what takes long; the caller closes it. Raises psycopg.Error."""
        return psycopg.connect(**self._options)

    def _wait_seconds(self) -> float:
        return _WAIT_IN_OUTAGE_SECONDS if self._down_until else _WAIT_SECONDS

    def read(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Return the rows of a query, as of the last commit."""
        with self._in_our_words():
            try:
                return self._read(sql, parameters)
            except (psycopg.OperationalError, psycopg.InterfaceError):
                self._readers.check()
                return self._read(sql, parameters)

    def _read(self, sql: str, parameters: Parameters) -> list[Row]:
        with self._readers.connection(self._wait_seconds()) as connection:
            return _rows(connection, sql, parameters)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Run the block in a transaction: committed durably when it ends, rolled back when it raises."""
        if self.is_read_only:
            raise DatabaseUnavailable("the database is only read from here")
        wait = self._wait_seconds()
        with self._in_our_words(), self._turn(), self._writers.connection(wait) as connection, connection.transaction():
            connection.execute("select set_config('lock_timeout', %s, true)", (f"{self._busy_seconds * 1000:.0f}",))
            connection.execute("select pg_advisory_xact_lock(%s), pg_notify(%s, '')", (_WRITING, CHANNEL))
            transaction = PostgresTransaction(connection)
            yield transaction
            self.before_commit(transaction)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Queue the writers of this process here, so that one connection is enough for them."""
        if not self._lock.acquire(timeout=self._busy_seconds):
            raise DatabaseUnavailable("other writes took too long")
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        """Raise psycopg's errors as the seam's; those that are a fault of ours stay what they are."""
        if time.monotonic() < self._down_until:
            raise DatabaseUnavailable("the database could not be reached a moment ago")
        try:
            yield
        except psycopg.errors.DiskFull as error:
            raise DatabaseFull(_first_line(error)) from error
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction) as error:
            if error.sqlstate is None:  # the server said nothing: it is not there
                self._down_until = time.monotonic() + _REST_SECONDS
            raise DatabaseUnavailable(_first_line(error)) from error
        self._down_until = 0.0

    def changed(self, seconds: float) -> bool:
        """Wait for a commit of anybody since the call before, `seconds` at most; return whether there may be one."""
        return self._news.wait(seconds)

    @contextmanager
    def claim(self, name: str) -> Iterator[bool]:
        """Claim a piece of work for the block: true where it was to be had, false where somebody else has it."""
        with contextlib.ExitStack() as stack:
            with self._in_our_words():
                mine = stack.enter_context(self._claims.hold(name))
            yield mine

    def lead(self) -> bool:
        """Return whether this process leads. The lead is a lock that the server drops with its connection."""
        if self.is_read_only:
            return False
        try:
            if self._leading is None:
                self._leading = self.connect()
            sql = (
                "select exists (select 1 from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'"
                " and objsubid = 1 and ((classid::bigint << 32) | objid::bigint) = %s) or pg_try_advisory_lock(%s)"
            )
            return bool(_rows(self._leading, sql.replace("%s", "?"), (_LEADING, _LEADING))[0][0])
        except psycopg.Error as error:
            _log.warning("this process cannot lead: %s", _first_line(error))
            self._drop_lead()
            return False

    def _drop_lead(self) -> None:
        if self._leading is not None:
            with contextlib.suppress(psycopg.Error):
                self._leading.close()
            self._leading = None

    def close(self) -> None:
        """Close every connection; call when no other thread uses the database any more."""
        self._drop_lead()
        self._news.close()
        self._claims.close()
        for pool in (self._readers, self._writers):
            pool.close()


def _options(url: str, *, read_only: bool) -> dict[str, Any]:
    """Return the parameters of a connection: the operator's, and ours where there are none."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        raise DatabaseUnusable("database.url is not a PostgreSQL URL that can be read") from None
    parts = [_VECTOR_OPTIONS, str(given.get("options") or ""), _CONNECT["options"]]
    if read_only:
        parts.append("-c default_transaction_read_only=on")
    return {**_CONNECT, **given, "options": " ".join(parts)}


def _values(parameters: Parameters) -> list[Any]:
    return [text(value) if isinstance(value, str) else value for value in parameters]


def _rows(connection: Connection, sql: str, parameters: Parameters) -> list[Row]:
    # Binary: vectors would otherwise come as twice as many hexadecimal digits.
    return connection.execute(statement(sql), _values(parameters), binary=True).fetchall()


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).partition("\n")[0]
