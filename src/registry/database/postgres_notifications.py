"""What writers of a PostgreSQL database say with their commits, heard on a connection of its own."""

import contextlib
import logging
import time
from typing import Any

import psycopg

from registry.db import Row

_log = logging.getLogger("registry.database")

CHANNEL = "skill_registry"
"""Notified of by every write transaction; it counts for one database of the server."""

_TRY_AGAIN_SECONDS = 5.0


class CommitNotifications:
    """Waits for the next commit of anybody. For one thread.

    Where nothing can be heard, as on a standby or while the server is away, each wait ends with true: there may be
    something new, and whoever asks looks for himself.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._connection: psycopg.Connection[Row] | None = None
        self._try_at = 0.0

    def wait(self, seconds: float) -> bool:
        """Return whether there may be something new since the call before, after `seconds` at most."""
        if self._connection is None and time.monotonic() < self._try_at:
            time.sleep(seconds)
            return True
        try:
            return self._heard(seconds)
        except psycopg.Error as error:
            _log.info("commits of others are looked for, since they cannot be heard: %s", type(error).__name__)
            self.close()
            self._try_at = time.monotonic() + _TRY_AGAIN_SECONDS
            return True

    def _heard(self, seconds: float) -> bool:
        if self._connection is None:
            self._connection = psycopg.connect(**self._options)
            self._connection.execute(f"listen {CHANNEL}".encode())
            return True  # nobody told us what was committed before
        return any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))

    def close(self) -> None:
        """Hear no more."""
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None
