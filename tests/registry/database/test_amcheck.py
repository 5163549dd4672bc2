"""The extension amcheck finds what reading every row of a PostgreSQL database does not: an index that lacks rows."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from registry.database.postgres_integrity import damaged_tables, reindex_table, unchecked_damage
from registry.db import DamagedTable
from support.postgres_server import PostgresServer, distribution_programs

PAGE = 8192
COMMITTED, FROZEN = 0x0100, 0x0300  # HEAP_XMIN_COMMITTED, HEAP_XMIN_FROZEN (access/htup_details.h)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of the distribution: the one that comes as a wheel lacks the extension."""
    with PostgresServer(distribution_programs()) as running:
        yield running


@pytest.fixture
def url(server: PostgresServer) -> str:
    url = server.new_database()
    execute(url, "create extension amcheck", "create table notes (id bigint primary key, body text)")
    execute(url, "insert into notes select n, 'note ' || n from generate_series(1, 100) n")
    return url


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def path_of(server: PostgresServer, url: str, relation: str) -> Path:
    """Return the file of a table or an index whose pages are all on the disk."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("checkpoint")
        (name,) = connection.execute("select pg_relation_filepath(%s)", (relation,)).fetchall()[0]
    return Path(server.data, name)


def damaged(url: str) -> list[DamagedTable]:
    with psycopg.connect(url, autocommit=True) as connection:
        return damaged_tables(connection)


def test_an_intact_database_is_checked_without_a_note(url: str) -> None:
    assert damaged(url) == []
    with psycopg.connect(url, autocommit=True) as connection:
        assert unchecked_damage(connection) is None


def test_an_index_that_lost_a_write_is_found_and_built_again(server: PostgresServer, url: str, tmp_path: Path) -> None:
    index = path_of(server, url, "notes_pkey")
    server.stop()
    shutil.copyfile(index, tmp_path / "before")
    server.start()
    execute(url, "insert into notes values (101, 'the write that is lost')", "checkpoint")
    server.stop()
    shutil.copyfile(tmp_path / "before", index)
    server.start()
    (found,) = damaged(url)
    assert (found.table, found.only_indexes) == ("notes", True)
    assert "index notes_pkey: heap tuple" in found.problem
    with psycopg.connect(url, autocommit=True) as connection:
        reindex_table(connection, "notes")
        rows = connection.execute("select body from notes where id = 101").fetchall()
    assert rows == [("the write that is lost",)]
    assert damaged(url) == []


def test_a_row_header_that_reading_does_not_mind_is_found(server: PostgresServer, url: str) -> None:
    table = path_of(server, url, "notes")
    server.stop()
    with table.open("r+b") as file:
        page = bytearray(file.read(PAGE))
        pointer = int.from_bytes(page[24:28], "little")  # of the first row: 15 bits of offset, 2 of flags, 15 of length
        row = pointer & 0x7FFF
        page[row : row + 4] = (2**30).to_bytes(4, "little")  # as if a transaction had written it that never was
        flags = int.from_bytes(page[row + 20 : row + 22], "little") & ~FROZEN | COMMITTED
        page[row + 20 : row + 22] = flags.to_bytes(2, "little")
        file.seek(0)
        file.write(page)
    server.start()
    (found,) = damaged(url)
    assert (found.table, found.only_indexes) == ("notes", False)
    assert "page 0: " in found.problem


def test_the_commands_of_the_note_let_an_ordinary_user_check(server: PostgresServer) -> None:
    url = server.new_database()
    execute(url, "create role plain login password 'plain'", "create table notes (id bigint primary key)")
    execute(url, "grant all on notes to plain")
    plain = re.sub(r"//[^@]+@", "//plain:plain@", url)
    with psycopg.connect(plain, autocommit=True) as connection:
        commands = re.search(r"run '([^']+)' in this database", unchecked_damage(connection) or "")
        assert commands is not None
        execute(url, commands[1])
        assert unchecked_damage(connection) is None
        assert damaged_tables(connection) == []
