"""pgvector's HNSW indexes: one for each space, built when the space is complete.

An index that grows vector by vector costs five times as much as one built over all vectors, and would delay every
write. So a space is filled first, and searched exhaustively until its index is built.
"""

import contextlib
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from registry.database.dialect import literal, statement
from registry.database.postgres import PostgresDatabase
from registry.db import DatabaseError, DatabaseUnavailable, Row
from search.thread_health import ThreadHealth

_log = logging.getLogger("registry.database")

M, EF_CONSTRUCTION = 24, 200
"""The HNSW parameters. benchmarks/postgres_vectors.py was used to choose them, and `hnsw.ef_search`."""

MIN_VECTORS = 5000
"""Below this number of vectors, an exhaustive search takes a few milliseconds at most."""

_BUILD_LOCK = 0x536B_526A_0004
"""The key of an advisory lock."""

_LOCK_POLL_SECONDS = 0.2
_CANCEL_SECONDS = 0.2
_MIN_MEMORY, _MAX_MEMORY = 64 << 20, 2 << 30
_PREFIX = "vectors_hnsw_"


class HnswIndexes:
    """Builds indexes in a thread, one at a time over all processes, and calls `on_built` after each.

    Searches and writes continue meanwhile. Each build removes incomplete indexes of crashed builds, and indexes of
    removed spaces. A space with fewer than `min_vectors` vectors needs no index.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        spaces: Callable[[], Sequence[str]],
        on_built: Callable[[], None],
        min_vectors: int = MIN_VECTORS,
    ) -> None:
        self._database = database
        self._min_vectors = min_vectors
        self._spaces = spaces
        self._on_built = on_built
        self._thread: threading.Thread | None = None
        self._connection: psycopg.Connection[Row] | None = None
        self._health = ThreadHealth("vector index build", _log, (DatabaseError,))
        self._stopped = threading.Event()

    def is_ready(self, space: str, dim: int) -> bool:
        """Return whether a space can be searched quickly. If not, or if an index is useless, start a build."""
        current = {_name(entry) for entry in self._spaces()}
        indexes = self._indexes()
        is_ready = indexes.get(_name(space), not self._needs_index(space))
        if not is_ready or not all(indexes.values()) or indexes.keys() - current:
            self._start_build(space, dim)
        return is_ready

    def _indexes(self) -> dict[str, bool]:
        """Return the names of the existing indexes, and whether each is complete."""
        rows = self._database.read(
            "select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid"
            " where i.indrelid = 'vectors'::regclass and starts_with(c.relname::text, ?)",
            (_PREFIX,),
        )
        return dict(rows)

    def _needs_index(self, space: str) -> bool:
        first = "select count(*) from (select 1 from vectors where space = ? limit ?) as first"
        return bool(self._database.read(first, (space, self._min_vectors))[0][0] >= self._min_vectors)

    def _start_build(self, space: str, dim: int) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        if not self._stopped.is_set() and self._health.is_due():
            self._thread = threading.Thread(target=self._run, args=(space, dim), name="hnsw-build", daemon=True)
            self._thread.start()

    def _run(self, space: str, dim: int) -> None:
        with self._health.attempt(self._stopped):  # meanwhile, searches compare all vectors
            self.build(space, dim)
            self._on_built()

    def build(self, space: str, dim: int) -> None:
        """Build the index of a space if it needs one and has none, and remove useless indexes.

        Waits for builds by other processes. Raises DatabaseError.
        """
        try:
            self._build_or_wait(space, dim)
        except psycopg.Error as error:
            raise DatabaseUnavailable(str(error).partition("\n")[0]) from error

    def _build_or_wait(self, space: str, dim: int) -> None:
        with self._database.connect() as connection:
            self._connection = connection
            try:
                # Polling avoids a deadlock: a build waits for every statement, also for one that waits for this lock.
                while not connection.execute("select pg_try_advisory_lock(%s)", (_BUILD_LOCK,)).fetchall()[0][0]:
                    if self._stopped.is_set():
                        return
                    time.sleep(_LOCK_POLL_SECONDS)
                indexes, current = self._indexes(), {_name(entry) for entry in self._spaces()}
                _drop(connection, [name for name, is_complete in indexes.items() if not is_complete])
                if not indexes.get(_name(space)) and self._needs_index(space):
                    self._build(connection, space, dim)
                # Dropped last, since an index with the parameters of an earlier release is useful until then.
                _drop(
                    connection, [name for name, is_complete in indexes.items() if is_complete and name not in current]
                )
            finally:
                self._connection = None

    def _build(self, connection: psycopg.Connection[Row], space: str, dim: int) -> None:
        started = time.monotonic()
        count = int(self._database.read("select count(*) from vectors where space = ?", (space,))[0][0])
        memory = min(max(count * (2 * dim + 24 * M + 300), _MIN_MEMORY), _MAX_MEMORY)
        _run(connection, "select set_config('maintenance_work_mem', ?, false)", f"{memory >> 10}kB")
        sql = (
            f"create index concurrently {_name(space)} on vectors using hnsw ((vector::halfvec({dim})) halfvec_ip_ops)"
            f" with (m = {M}, ef_construction = {EF_CONSTRUCTION}) where space = {literal(space)}"
        )
        try:
            _run(connection, sql)
        except (
            psycopg.errors.InsufficientResources
        ):  # containers often lack the shared memory that parallel workers need
            _drop(connection, [_name(space)])
            _run(connection, "set max_parallel_maintenance_workers = 0")
            _run(connection, sql)
        _run(connection, "analyze vectors")
        _log.info("built the vector index of %d vectors in %.1f s", count, time.monotonic() - started)

    def stop(self) -> None:
        """Cancel a running build."""
        self._stopped.set()
        self._health.is_active = False
        while self._thread is not None and self._thread.is_alive():
            if (connection := self._connection) is not None:
                with contextlib.suppress(psycopg.Error):
                    connection.cancel_safe()
            self._thread.join(_CANCEL_SECONDS)


def _name(space: str) -> str:
    return _PREFIX + hashlib.sha256(f"{space} {M} {EF_CONSTRUCTION}".encode()).hexdigest()[:16]


def _drop(connection: psycopg.Connection[Row], names: Sequence[str]) -> None:
    for name in names:
        _run(connection, f"drop index concurrently if exists {name}")


def _run(connection: psycopg.Connection[Row], sql: str, *parameters: Any) -> None:
    connection.execute(statement(sql), parameters)
