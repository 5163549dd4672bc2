"""PostgreSQL: one leader, recovery from outages, databases of other programs, and concurrent migrations."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from registry.database.dialect import schema_statement
from registry.database.migrations import MIGRATIONS
from registry.database.postgres import PostgresDatabase
from registry.db import DatabaseUnavailable, DatabaseUnusable
from support.postgres_server import PostgresServer
from support.waiting import PATIENCE_SECONDS


def test_one_process_leads_until_it_ends(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    first, second = PostgresDatabase(url), PostgresDatabase(url)
    assert (first.lead(), second.lead(), first.lead()) == (True, False, True)
    first.close()

    def lead() -> bool:
        if not second.lead():
            raise DatabaseUnavailable("the server has not released the lock yet")
        return True

    assert until(lead)
    second.close()


def test_replicas_can_start_concurrently(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(lambda _: PostgresDatabase(url), range(4)))
    assert len({database.read("select value from facts where name = 'catalog_id'")[0][0] for database in opened}) == 1
    for database in opened:
        database.close()


def test_an_outage_is_reported_at_once_and_passes() -> None:
    with PostgresServer() as server:
        database = PostgresDatabase(server.new_database())
        server.stop()
        for _ in range(3):
            with pytest.raises(DatabaseUnavailable):
                database.read("select 1")
        with pytest.raises(DatabaseUnavailable), database.write():
            pass
        assert not database.lead()
        server.start()
        assert until(lambda: database.read("select 1")) == [(1,)]
        with database.write() as transaction:
            assert transaction.next_revision() == 1
        assert database.lead()
        database.close()


def until(read: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> object:
    """Return what `read` returns once it does not say that the database is away."""
    ended = threading.Event()
    timer = threading.Timer(seconds, ended.set)
    timer.start()
    try:
        while True:
            try:
                return read()
            except DatabaseUnavailable:
                assert not ended.wait(0.05), "it did not come back"
    finally:
        timer.cancel()


def test_readers_and_writers_survive_broken_connections(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    database = PostgresDatabase(url)
    with psycopg.connect(url) as other:
        other.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
                      " and datname = current_database()")  # fmt: skip
    assert database.read("select value from counter") == [(0,)]
    with database.write() as transaction:
        assert transaction.next_revision() == 1
    database.close()


def test_the_listener_reconnects_when_its_connection_breaks(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    database = PostgresDatabase(url)
    assert database.changed(20)
    with psycopg.connect(url) as other:
        other.execute("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%'"
                      " and datname = current_database()")  # fmt: skip
    assert database.changed(20)  # nobody can hear: there may be something new
    database._notifications._try_at = 0.0
    assert database.changed(20)
    assert not database.changed(0.1)
    with database.write() as transaction:
        transaction.next_revision()
    assert database.changed(20)
    database.close()


def test_a_claim_lost_with_its_connection_can_be_taken_again(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    first, second = PostgresDatabase(url), PostgresDatabase(url)
    with first.claim("a") as mine, psycopg.connect(url) as other:
        assert mine
        other.execute("select pg_terminate_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database"
                      " where locktype = 'advisory' and datname = current_database()")  # fmt: skip
        with second.claim("a") as theirs:
            assert theirs
    with first.claim("a") as again:
        assert again
    first.close()
    second.close()


def test_a_nul_is_stored_as_the_replacement_character(postgres: PostgresServer) -> None:
    database = PostgresDatabase(postgres.new_database())
    with database.write() as transaction:
        transaction.put_fact("nul", "a\0b")
    assert database.read("select value from facts where name = ?", ("nul",)) == [("a\ufffdb",)]
    database.close()


def test_a_foreign_or_newer_database_is_refused_and_unchanged(postgres: PostgresServer) -> None:
    theirs, newer = postgres.new_database(), postgres.new_database()
    with psycopg.connect(theirs) as connection:
        connection.execute("create table other (a int)")
    PostgresDatabase(newer).close()
    with psycopg.connect(newer) as connection:
        connection.execute("update skill_registry_schema set version = %s", (len(MIGRATIONS) + 1,))
    for url, why in ((theirs, "another program"), (newer, "newer release")):
        with pytest.raises(DatabaseUnusable, match=why):
            PostgresDatabase(url)
    with psycopg.connect(theirs) as connection:
        assert connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall() == [
            ("other",)
        ]


def test_a_database_without_pgvector_is_refused_if_it_cannot_be_created(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create role plain login password 'plain'")
        connection.execute("grant all on schema public to plain")
        with pytest.raises(DatabaseUnusable, match="administrator run 'create extension vector'"):
            PostgresDatabase(url.replace("owner:test%3Ap%40ss%2Fword", "plain:plain"))
        connection.execute("create extension vector")
    PostgresDatabase(url.replace("owner:test%3Ap%40ss%2Fword", "plain:plain")).close()


def test_no_message_contains_the_password() -> None:
    for url in ("postgresql://ada:canary@127.0.0.1:1/none", "postgresql://ada:canary@/x?nonsense=1"):
        with pytest.raises(DatabaseUnusable) as refused:
            PostgresDatabase(url)
        assert "canary" not in str(refused.value)


def test_the_schema_is_translated() -> None:
    assert schema_statement("create table t (a integer primary key autoincrement, text_hash text, b blob)") == (
        'create table t (a bigint generated by default as identity primary key, text_hash text collate "C", b bytea)'
    )
    assert schema_statement("create table t (at real, primary key (at)) without rowid") == (
        "create table t (at double precision, primary key (at))"
    )
    assert schema_statement("create table t (vector blob not null)") == "create table t (vector halfvec not null)"
