"""Claims as advisory locks of one session, which the server releases with its connection."""

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from registry.database.postgres_connection import connect
from registry.db import Row


class PostgresClaims:
    """Holds the claims of this process on one connection, which the first claim opens.

    If the connection breaks, all claims are lost and others may get them, while the claimed work continues.
    """

    def __init__(self, options: dict[str, Any], answer_seconds: float) -> None:
        self._options = options
        self._answer_seconds = answer_seconds
        self._connection: psycopg.Connection[Row] | None = None
        self._lock = threading.Lock()
        self._held: set[str] = set()

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Hold a claim for the block and yield true, or yield false if another has it. Raises psycopg.Error."""
        is_claimed = self._take(name)
        try:
            yield is_claimed
        finally:
            if is_claimed:
                self._release(name)

    def _take(self, name: str) -> bool:
        with self._lock:
            if name in self._held:  # the server would give the lock to this session twice
                return False
            try:
                if self._connection is None:
                    self._connection = connect(self._options, self._answer_seconds)
                row = self._connection.execute(
                    "select pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)
                ).fetchone()
            except psycopg.Error:
                self._drop()
                raise
            if is_taken := bool(row and row[0]):
                self._held.add(name)
            return is_taken

    def _release(self, name: str) -> None:
        with self._lock:
            self._held.discard(name)
            try:
                if self._connection is not None:
                    self._connection.execute("select pg_advisory_unlock(hashtextextended(%s, 0))", (name,))
            except psycopg.Error:
                self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Release all claims."""
        with self._lock:
            self._drop()
