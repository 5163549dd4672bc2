"""The debug mode: what may wait for a database fails on the event loop, with figures of a quick database too."""

import asyncio
from pathlib import Path

import pytest

from registry.database.postgres import PostgresDatabase
from registry.database.sqlite import SqliteDatabase
from registry.runtime.event_loop import CallOnEventLoop, database_file_allowed
from support.postgres_server import PostgresServer


def test_a_database_file_is_read_on_the_event_loop_where_that_is_allowed_only(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "a.db")

    async def read() -> None:
        with pytest.raises(CallOnEventLoop):
            database.read("select 1")
        with database_file_allowed:
            assert database.read("select 1") == [(1,)]
            with pytest.raises(CallOnEventLoop), database.write():
                pass
        with pytest.raises(CallOnEventLoop):
            database.read("select 1")
        assert await asyncio.to_thread(database.read, "select 1") == [(1,)]

    asyncio.run(read())
    assert database.read("select 1") == [(1,)]
    database.close()


def test_a_database_server_is_never_read_on_the_event_loop(postgres: PostgresServer) -> None:
    database = PostgresDatabase(postgres.new_database())

    async def read() -> None:
        with database_file_allowed:
            for call in (lambda: database.read("select 1"), database.ping, database.connect):
                with pytest.raises(CallOnEventLoop):
                    call()
        assert await asyncio.to_thread(database.read, "select 1") == [(1,)]

    asyncio.run(read())
    database.close()
