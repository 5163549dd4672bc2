"""Claims as advisory locks of one session, which the server lets go with its connection."""

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from registry.db import Row


class PostgresClaims:
    """Holds the claims of this process on a connection that is opened with the first of them.

    Where it breaks every claim is lost, and may be had by others, while the work that was claimed still goes on.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._connection: psycopg.Connection[Row] | None = None
        self._lock = threading.Lock()
        self._held: set[str] = set()

    @contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Hold a claim for the block and yield true, or false where another has it. Raises psycopg.Error."""
        mine = self._take(name)
        try:
            yield mine
        finally:
            if mine:
                self._release(name)

    def _take(self, name: str) -> bool:
        with self._lock:
            if name in self._held:  # the server would let this session have it twice
                return False
            try:
                if self._connection is None:
                    self._connection = psycopg.connect(**self._options)
                row = self._connection.execute(
                    "select pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)
                ).fetchone()
            except psycopg.Error:
                self._drop()
                raise
            if taken := bool(row and row[0]):
                self._held.add(name)
            return taken

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
        """Let everything go."""
        with self._lock:
            self._drop()
