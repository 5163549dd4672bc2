"""Notifications of commits to a PostgreSQL database, received on a separate connection."""

import contextlib
import logging
import time
from typing import Any

import psycopg

from registry.database.postgres_connection import connect
from registry.db import Row

_log = logging.getLogger("registry.database")

CHANNEL = "skill_registry"
"""The channel that every write transaction notifies. It applies to one database of the server."""

_RETRY_SECONDS = 5.0


class CommitNotifications:
    """Waits for the next commit by any process. For one thread.

    Without notifications, as on a standby or during an outage, each wait returns true, so that the caller polls.
    """

    def __init__(self, options: dict[str, Any], answer_seconds: float) -> None:
        self._options = options
        self._answer_seconds = answer_seconds
        self._connection: psycopg.Connection[Row] | None = None
        self._try_at = 0.0

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds` for a commit since the previous call; return whether there may be one."""
        if self._connection is None and time.monotonic() < self._try_at:
            time.sleep(seconds)
            return True
        try:
            return self._receive(seconds)
        except psycopg.Error as error:
            _log.info(
                "commits of other processes are polled, since notifications are not available: %s", type(error).__name__
            )
            self.close()
            self._try_at = time.monotonic() + _RETRY_SECONDS
            return True

    def _receive(self, seconds: float) -> bool:
        if self._connection is None:
            self._connection = connect(self._options, self._answer_seconds)
            self._connection.execute(f"listen {CHANNEL}".encode())
            return True  # commits before `listen` cause no notification
        return any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None
