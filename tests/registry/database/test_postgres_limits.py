"""The time-outs of PostgreSQL: statements, answers that do not come, locks, and writers that are stopped."""

import threading
import time

import psycopg
import pytest

from registry.config.groups import DatabaseSettings
from registry.database import postgres_connection
from registry.database.postgres import PostgresDatabase
from registry.db import DatabaseUnavailable
from support.holding_proxy import HoldingProxy
from support.postgres_server import PostgresServer
from support.waiting import wait_until

_QUICK = DatabaseSettings(statement_seconds=0.5, answer_seconds=1.0, lock_seconds=1.0)


def test_a_statement_that_takes_too_long_is_ended_by_the_server(postgres: PostgresServer) -> None:
    database = PostgresDatabase(postgres.new_database(), _QUICK)
    with pytest.raises(DatabaseUnavailable, match="statement timeout"):
        database.read("select pg_sleep(600)")
    with pytest.raises(DatabaseUnavailable, match="statement timeout"), database.write() as transaction:
        transaction.put_fact("a", "b")
        transaction.read("select pg_sleep(600)")
    assert database.read("select value from facts where name = 'a'") == []
    database.close()


def test_commands_have_no_time_out(postgres: PostgresServer) -> None:
    database = PostgresDatabase(postgres.new_database())
    assert database.read("select current_setting('statement_timeout')") == [("0",)]
    database.close()


def test_an_answer_that_does_not_come_ends_reads_and_writes(postgres: PostgresServer) -> None:
    name = postgres.new_database().rpartition("/")[2]
    with HoldingProxy("127.0.0.1", postgres.port) as proxy:
        database = PostgresDatabase(postgres.url(name, proxy.port), _QUICK)
        with database.write() as transaction:
            transaction.put_fact("before", "1")
        assert database.lead()
        proxy.hold()
        with pytest.raises(DatabaseUnavailable):
            database.read("select 1")
        with pytest.raises(DatabaseUnavailable), database.write():
            pass
        with pytest.raises(DatabaseUnavailable):
            database.ping()
        assert not database.lead()
        proxy.release()
        wait_until(lambda: _works(database))
        assert database.lead()
        database.close()


def _works(database: PostgresDatabase) -> bool:
    try:
        with database.write() as transaction:
            transaction.put_fact("after", "1")
        database.ping()
        return database.read("select count(*) from facts where name in ('before', 'after')") == [(2,)]
    except DatabaseUnavailable:
        return False


def test_a_writer_that_is_stopped_keeps_the_others_waiting_for_a_bounded_time(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "_IDLE_IN_TRANSACTION", "2s")
    url = postgres.new_database()
    stopped, other = PostgresDatabase(url, _QUICK), PostgresDatabase(url, _QUICK)
    holding, resume = threading.Event(), threading.Event()
    failures: list[Exception] = []

    def hold() -> None:
        try:
            with stopped.write() as transaction:
                transaction.put_fact("lost", "1")
                holding.set()
                resume.wait()
        except DatabaseUnavailable as error:
            failures.append(error)

    thread = threading.Thread(target=hold)
    thread.start()
    assert holding.wait(60)
    wait_until(lambda: _works_for(other))
    resume.set()
    thread.join()
    assert failures, "a transaction that the server has ended cannot be acknowledged"
    assert other.read("select value from facts where name = 'lost'") == []
    stopped.close()
    other.close()


def _works_for(database: PostgresDatabase) -> bool:
    try:
        with database.write() as transaction:
            transaction.put_fact("other", str(time.time()))
    except DatabaseUnavailable:
        return False
    return True


def test_a_lock_of_another_program_is_waited_for_for_a_bounded_time(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    database = PostgresDatabase(url, _QUICK)
    with psycopg.connect(url) as other:
        other.execute("lock table facts in access exclusive mode")
        with pytest.raises(DatabaseUnavailable):
            database.read("select * from facts")
        with pytest.raises(DatabaseUnavailable), database.write() as transaction:
            transaction.put_fact("a", "1")
    assert _works_for(database)
    database.close()
