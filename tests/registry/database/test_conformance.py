"""Conformance of every implementation of `registry.db.Database`."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from registry.config.types import DatabaseUrl
from registry.database import open_url
from registry.db import Database, DatabaseUnavailable
from support.waiting import wait_until


@pytest.fixture
def other(database: Database, database_url: DatabaseUrl) -> Iterator[Database]:
    """The same database as another process has it."""
    opened = open_url(database_url)
    yield opened
    opened.close()


def facts(database: Database, *names: str) -> list[str]:
    marks = ", ".join("?" * len(names))
    return [row[0] for row in database.read(f"select value from facts where name in ({marks}) order by value", names)]


def test_a_write_is_visible_everywhere_and_a_failed_one_changes_nothing(database: Database, other: Database) -> None:
    with database.write() as transaction:
        transaction.put_fact("a", "1")
        assert facts(other, "a") == []
    with pytest.raises(ValueError, match="stop"), database.write() as transaction:
        transaction.put_fact("b", "2")
        raise ValueError("stop")
    assert facts(database, "a", "b") == facts(other, "a", "b") == ["1"]


def test_a_commit_hook_is_part_of_the_transaction(database: Database) -> None:
    database.hooks.on_commit(lambda transaction: transaction.put_fact("seen", ",".join(transaction.touched)))
    with database.write() as transaction:
        transaction.touched.append("one")
    assert facts(database, "seen") == ["one"]
    database.hooks.on_commit(lambda transaction: 1 / 0)
    with pytest.raises(ZeroDivisionError), database.write() as transaction:
        transaction.put_fact("late", "x")
    assert facts(database, "late") == []


def test_a_change_hook_sees_the_commit_and_cannot_fail_it(database: Database) -> None:
    seen: list[list[str]] = []
    database.hooks.after_change(lambda: 1 / 0)
    database.hooks.after_change(lambda: seen.append(facts(database, "a", "b")))
    with database.write() as transaction:
        transaction.put_fact("a", "1")
    assert seen == []  # no document has changed
    with database.write() as transaction:
        transaction.put_fact("b", "2")
        transaction.changes_documents = True
    assert seen == [["1", "2"]]


def test_a_change_hook_does_not_run_after_a_rollback(database: Database) -> None:
    seen: list[bool] = []
    database.hooks.after_change(lambda: seen.append(True))
    with pytest.raises(ValueError, match="stop"), database.write() as transaction:
        transaction.changes_documents = True
        raise ValueError("stop")
    assert seen == []


def test_a_batch_runs_its_change_hooks_once(database: Database) -> None:
    seen: list[bool] = []
    database.hooks.after_change(lambda: seen.append(True))
    with database.hooks.batch() as batch:
        for count in range(4):
            with database.write() as transaction, database.hooks.batch():
                transaction.changes_documents = True
            if count == 1:
                batch.flush()
        assert seen == [True]
    assert seen == [True, True]
    with database.hooks.batch():
        pass
    assert seen == [True, True]


def test_change_numbers_grow_and_are_never_reused(database: Database) -> None:
    with database.write() as transaction:
        first = [transaction.next_revision(), transaction.next_revision(3)]
    with pytest.raises(ValueError, match="stop"), database.write() as transaction:
        transaction.next_revision()
        raise ValueError("stop")
    with database.write() as transaction:
        assert transaction.next_revision() > first[1] == first[0] + 3


def test_a_visible_number_implies_every_smaller_one(database: Database, other: Database) -> None:
    def write(through: Database) -> None:
        for _ in range(40):
            with through.write() as transaction:
                number = transaction.next_revision()
                transaction.put_fact(f"change-{number}", "x")

    writers = [threading.Thread(target=write, args=(target,)) for target in (database, other, database, other)]
    for writer in writers:
        writer.start()
    seen = 0
    while seen < 160:
        seen = database.read("select value from counter")[0][0]
        assert database.read("select count(*) from facts where name like ?", ("change-%",))[0][0] >= seen
    for writer in writers:
        writer.join()


def test_a_write_waits_for_a_write_of_another_process(database: Database, other: Database) -> None:
    inside = threading.Event()

    def hold() -> None:
        with other.write() as transaction:
            inside.set()
            time.sleep(0.5)
            transaction.put_fact("first", "1")

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait()
    with database.write() as transaction:
        assert transaction.read("select value from facts where name = 'first'") == [("1",)]
    holder.join()


def test_a_write_that_waits_too_long_is_refused_and_the_next_one_works(database: Database, other: Database) -> None:
    other._busy_seconds = 0.2
    with database.write() as transaction:
        transaction.put_fact("held", "1")
        started = time.monotonic()
        with pytest.raises(DatabaseUnavailable):
            _write(other)
        assert time.monotonic() - started < 30
    _write(other)
    assert facts(database, "late", "held") == ["1", "x"]


def test_one_thread_of_one_process_holds_a_claim(database: Database, other: Database) -> None:
    with database.claim("a") as first, other.claim("a") as second, database.claim("a") as third:
        assert (first, second, third) == (True, False, False)
        with other.claim("b") as another:
            assert another
    with other.claim("a") as later:
        assert later


def test_a_claim_ends_with_its_process(database: Database, database_url: DatabaseUrl) -> None:
    program = (
        "import sys, time; from registry.database import open_url; from registry.config.types import DatabaseUrl\n"
        "with open_url(DatabaseUrl(sys.argv[1])).claim('a') as mine: print(mine, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", program, database_url.reveal()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "True\n"
        assert not claimed(database)
        holder.kill()
    wait_until(lambda: claimed(database))


def claimed(database: Database) -> bool:
    with database.claim("a") as mine:
        return mine


def _number(database: Database) -> None:
    with database.write() as transaction:
        transaction.next_revision()


def _write(database: Database) -> None:
    with database.write() as transaction:
        transaction.put_fact("late", "x")


def test_a_waiter_is_notified_of_every_commit_and_of_nothing_else(database: Database, other: Database) -> None:
    assert database.changed(20)  # the first time something may have been missed
    with pytest.raises(ValueError, match="stop"), other.write() as transaction:
        transaction.put_fact("undone", "1")
        raise ValueError("stop")
    assert not database.changed(0.1)
    for writer in (other, database):
        late = threading.Timer(0.1, _number, [writer])
        late.start()
        assert database.changed(20)
        late.join()
        assert not database.changed(0.1)


def test_a_commit_between_two_waits_is_noticed(database: Database, other: Database) -> None:
    database.changed(20)
    _number(other)
    assert database.changed(20)


def test_values_are_read_back_unchanged(database: Database) -> None:
    texts = ["", "'; drop table facts --", "50 % ? %s $1 \\", "żółć \U0001f600", "a\nb\tc"]
    with database.write() as transaction:
        assert transaction.execute_many(
            "insert into facts (name, value) values (?, ?)", [(text, text) for text in texts]
        ) == len(texts)
        transaction.execute(
            "insert into log_nodes (level, position, hash) values (?, ?, ?)", (0, 1 << 62, bytes(range(256)))
        )
    assert facts(database, *texts) == sorted(texts)
    assert database.read("select position, hash from log_nodes") == [(1 << 62, bytes(range(256)))]


def test_texts_are_ordered_by_their_bytes(database: Database) -> None:
    names = ["a", "B", "_", "é", "Z", "a-b", "ab", "a b"]
    with database.write() as transaction:
        transaction.execute_many("insert into facts (name, value) values (?, 'order')", [(name,) for name in names])
    found = [row[0] for row in database.read("select name from facts where value = 'order' order by name")]
    assert found == sorted(names, key=str.encode)


def test_rows_changed_are_counted(database: Database) -> None:
    with database.write() as transaction:
        assert transaction.execute("insert into facts (name, value) values ('a', '1') on conflict do nothing") == 1
        assert transaction.execute("insert into facts (name, value) values ('a', '2') on conflict do nothing") == 0
        assert transaction.execute("delete from facts where name in ('a', 'b')") == 1
        assert transaction.execute_many("insert into facts (name, value) values (?, '1')", []) == 0
