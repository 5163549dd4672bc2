"""Connections to PostgreSQL that give up: on a server that does not answer, and on statements that take too long.

The server's own time-outs end long statements and waits for locks. They do not help if its process is stopped or a
network holds the packets back, so the client also limits the time that it waits for each answer.
"""

from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict

from registry.config.groups import DatabaseSettings
from registry.db import DatabaseUnusable, Row
from registry.runtime.event_loop import check_call

Connection = psycopg.Connection[Row]

_MILLISECONDS = 1000
_IDLE_IN_TRANSACTION = "60s"
"""How long a process that is stopped within a transaction keeps the lock of all writers."""
_WAIT_INTERVAL = 0.1

_FIXED: dict[str, Any] = {
    "autocommit": True,
    "client_encoding": "utf8",
    "application_name": "skill-registry",
    # Keepalives detect a server that is gone without closing the connection, and let the server detect a lost leader.
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
    "options": "-c synchronous_commit=on -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=5"
    " -c tcp_keepalives_count=2 -c tcp_user_timeout=15000",
}
_VECTOR_OPTIONS = "-c hnsw.ef_search=120 -c hnsw.scan_mem_multiplier=4"
"""The search parameters of the vector index. `options` in the URL override them."""


class NoAnswer(psycopg.OperationalError):
    """The server has not answered in time. The connection is closed: an answer that came later would be a wrong one."""


class BoundedConnection(psycopg.Connection[Row]):
    """A connection of which no call waits for an answer for longer than `answer_seconds`. Set it after connecting.

    Other calls than `notifies` raise NoAnswer then.
    """

    answer_seconds: float | None = None

    def wait(self, gen: PQGen[Any], interval: float = _WAIT_INTERVAL, timeout: float | None = None) -> Any:
        """Run an operation of the connection, as psycopg does, for at most `answer_seconds`."""
        check_call("PostgreSQL", is_file=False)
        if timeout is not None or self.answer_seconds is None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.answer_seconds)
        except psycopg.errors._WaitTimeout:
            self.close()
            raise NoAnswer(f"the database has not answered for {self.answer_seconds:g} s") from None


def connection_options(url: str, settings: DatabaseSettings, *, read_only: bool) -> dict[str, Any]:
    """Return the connection parameters: those of the URL, and defaults for the others. Raises DatabaseUnusable."""
    try:
        parameters = conninfo_to_dict(url)
    except psycopg.Error:
        raise DatabaseUnusable(
            "database.url is not a valid PostgreSQL URL: expected postgresql://user@host/database"
        ) from None
    parts = [_VECTOR_OPTIONS, str(parameters.get("options") or ""), _FIXED["options"]]
    if read_only:
        parts.append("-c default_transaction_read_only=on")
    timeout = {"connect_timeout": max(1, round(settings.connect_seconds))}
    return {**_FIXED, **timeout, **parameters, "options": " ".join(parts)}


def connect(options: dict[str, Any], answer_seconds: float | None = None) -> BoundedConnection:
    """Return a new connection. Raises psycopg.Error."""
    check_call("PostgreSQL", is_file=False)
    connection = BoundedConnection.connect(**options)
    connection.answer_seconds = answer_seconds
    return connection


def limit(connection: psycopg.Connection[Any], settings: DatabaseSettings) -> None:
    """Limit the time of each statement on a new connection, in the server and here. Raises psycopg.Error."""
    milliseconds = f"{settings.statement_seconds * _MILLISECONDS:.0f}"
    for name, value in (
        ("statement_timeout", milliseconds),
        ("idle_in_transaction_session_timeout", _IDLE_IN_TRANSACTION),
    ):
        connection.execute("select set_config(%s, %s, false)", (name, value))
    if isinstance(connection, BoundedConnection):
        connection.answer_seconds = settings.answer_seconds
