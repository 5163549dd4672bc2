"""The HNSW graphs through which pgvector finds what is near: one a space, built when the space is complete.

A graph that grows vector by vector costs five times as much as one that is built over all of them, and every write
would wait for it; so a space is filled first, and looked through whole meanwhile.
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

_log = logging.getLogger("registry.database")

LINKS, BREADTH = 24, 200
"""HNSW's `m` and `ef_construction`: chosen, as is `hnsw.ef_search`, by benchmarks/postgres_vectors.py."""

WORTHWHILE = 5000
"""Vectors up to which looking at all of them takes a few milliseconds at most."""

_BUILDING = 0x536B_526A_0004
"""Key of an advisory lock."""

_REST_SECONDS = 60.0
_ASK_EVERY_SECONDS = 0.2
_CANCEL_EVERY_SECONDS = 0.2
_LEAST_MEMORY, _MOST_MEMORY = 64 << 20, 2 << 30
_PREFIX = "vectors_hnsw_"


class HnswIndexes:
    """Builds graphs in a thread, one at a time over all processes; `on_built` is called after each.

    Searches and writes go on meanwhile. What a crash leaves half-built is removed by the next build, and so are graphs
    of spaces that are gone. A space of fewer than `worthwhile` vectors needs none.
    """

    def __init__(
        self,
        database: PostgresDatabase,
        spaces: Callable[[], Sequence[str]],
        on_built: Callable[[], None],
        worthwhile: int = WORTHWHILE,
    ) -> None:
        self._database = database
        self._worthwhile = worthwhile
        self._spaces = spaces
        self._on_built = on_built
        self._thread: threading.Thread | None = None
        self._connection: psycopg.Connection[Row] | None = None
        self._rests_until = 0.0
        self._is_stopped = False

    def is_ready(self, space: str, dim: int) -> bool:
        """Return whether a space can be searched quickly; where it cannot, begin to see to that."""
        wanted = {_name(one) for one in self._spaces()}
        there = self._there()
        is_ready = there.get(_name(space), not self._is_worthwhile(space))
        if not is_ready or not all(there.values()) or there.keys() - wanted:
            self._begin(space, dim)
        return is_ready

    def _there(self) -> dict[str, bool]:
        """Return the graphs there are, and whether each is whole."""
        rows = self._database.read(
            "select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid"
            " where i.indrelid = 'vectors'::regclass and starts_with(c.relname::text, ?)",
            (_PREFIX,),
        )
        return dict(rows)

    def _is_worthwhile(self, space: str) -> bool:
        first = "select count(*) from (select 1 from vectors where space = ? limit ?) as first"
        return bool(self._database.read(first, (space, self._worthwhile))[0][0] >= self._worthwhile)

    def _begin(self, space: str, dim: int) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        if not self._is_stopped and time.monotonic() > self._rests_until:
            self._thread = threading.Thread(target=self._work, args=(space, dim), name="vector-graphs", daemon=True)
            self._thread.start()

    def _work(self, space: str, dim: int) -> None:
        try:
            self.build(space, dim)
        except DatabaseError as error:
            if not self._is_stopped:
                _log.warning("vectors are looked through one by one, their index was not built: %s", error)
            self._rests_until = time.monotonic() + _REST_SECONDS
        else:
            self._on_built()

    def build(self, space: str, dim: int) -> None:
        """Build the graph of a space, if it is worth it and not there, and remove those of no use.

        Waits for a build by another process. Raises DatabaseError.
        """
        try:
            self._build_or_wait(space, dim)
        except psycopg.Error as error:
            raise DatabaseUnavailable(str(error).partition("\n")[0]) from error

    def _build_or_wait(self, space: str, dim: int) -> None:
        with self._database.connect() as connection:
            self._connection = connection
            try:
                # Asked again and again: a build waits for whoever waits for a lock in a statement, and that one for it.
                while not connection.execute("select pg_try_advisory_lock(%s)", (_BUILDING,)).fetchall()[0][0]:
                    if self._is_stopped:
                        return
                    time.sleep(_ASK_EVERY_SECONDS)
                there, wanted = self._there(), {_name(one) for one in self._spaces()}
                _drop(connection, [name for name, is_whole in there.items() if not is_whole])
                if not there.get(_name(space)) and self._is_worthwhile(space):
                    self._build(connection, space, dim)
                # At last, since a graph with the links of an earlier release is of use until then.
                _drop(connection, [name for name, is_whole in there.items() if is_whole and name not in wanted])
            finally:
                self._connection = None

    def _build(self, connection: psycopg.Connection[Row], space: str, dim: int) -> None:
        started = time.monotonic()
        count = int(self._database.read("select count(*) from vectors where space = ?", (space,))[0][0])
        memory = min(max(count * (2 * dim + 24 * LINKS + 300), _LEAST_MEMORY), _MOST_MEMORY)
        _run(connection, "select set_config('maintenance_work_mem', ?, false)", f"{memory >> 10}kB")
        sql = (
            f"create index concurrently {_name(space)} on vectors using hnsw ((vector::halfvec({dim})) halfvec_ip_ops)"
            f" with (m = {LINKS}, ef_construction = {BREADTH}) where space = {literal(space)}"
        )
        try:
            _run(connection, sql)
        except psycopg.errors.InsufficientResources:  # containers often have little shared memory, which helpers need
            _drop(connection, [_name(space)])
            _run(connection, "set max_parallel_maintenance_workers = 0")
            _run(connection, sql)
        _run(connection, "analyze vectors")
        _log.info("built the index of %d vectors in %.1f s", count, time.monotonic() - started)

    def stop(self) -> None:
        """Break off a build that is under way."""
        self._is_stopped = True
        while self._thread is not None and self._thread.is_alive():
            if (connection := self._connection) is not None:
                with contextlib.suppress(psycopg.Error):
                    connection.cancel_safe()
            self._thread.join(_CANCEL_EVERY_SECONDS)


def _name(space: str) -> str:
    return _PREFIX + hashlib.sha256(f"{space} {LINKS} {BREADTH}".encode()).hexdigest()[:16]


def _drop(connection: psycopg.Connection[Row], names: Sequence[str]) -> None:
    for name in names:
        _run(connection, f"drop index concurrently if exists {name}")


def _run(connection: psycopg.Connection[Row], sql: str, *parameters: Any) -> None:
    connection.execute(statement(sql), parameters)
