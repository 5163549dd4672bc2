"""Conformance of every implementation of `registry.db.Database`."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from registry.config.types import DatabaseUrl
from registry.database import open_url
from registry.db import Database, DatabaseUnavailable, Transaction
from support.waiting import wait_until


@pytest.fixture
def other(database: Database, database_url: DatabaseUrl) -> Iterator[Database]:
    """The same database as another process has it."""
    opened = open_url(database_url)
    yield opened
    opened.close()


def divide_by_zero(*_: object) -> None:
    raise ZeroDivisionError


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
    database.hooks.on_commit(divide_by_zero)
    with pytest.raises(ZeroDivisionError), database.write() as transaction:
        transaction.put_fact("late", "x")
    assert facts(database, "late") == []


def test_a_change_hook_sees_the_commit_and_cannot_fail_it(database: Database) -> None:
    seen: list[list[str]] = []
    database.hooks.after_change(divide_by_zero)
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
    with database.write() as transaction:
        transaction.put_fact("held", "1")
        started = time.monotonic()
        with pytest.raises(DatabaseUnavailable):
            _write(other)
        assert time.monotonic() - started < 30
    _write(other)
    assert facts(database, "late", "held") == ["1", "x"]


class SharedWrites:
    """Writers of one process that come while another writes, and so share its commit."""

    def __init__(self, database: Database, other: Database, names: Sequence[str]) -> None:
        self._database, self._other, self._names = database, other, names
        self._has_begun, self._may_end = threading.Event(), threading.Event()
        self.commits: list[list[str]] = []
        """What another process saw right before each commit."""

    def _write(self, name: str, meanwhile: Callable[[Transaction, str], None]) -> list[str]:
        with self._database.write(shared=True) as transaction:
            transaction.before_commit["look"] = lambda: self.commits.append(facts(self._other, *self._names))
            transaction.put_fact(name, name)
            self._has_begun.set()
            self._may_end.wait()
            meanwhile(transaction, name)
        return facts(self._other, name)

    def run(self, meanwhile: Callable[[Transaction, str], None]) -> list[list[str] | BaseException]:
        """Return what each writer reads of its write when it returns, or its error; the first write waits for all."""
        with ThreadPoolExecutor(len(self._names)) as pool:
            first = pool.submit(self._write, self._names[0], meanwhile)
            self._has_begun.wait()
            others = [pool.submit(self._write, name, meanwhile) for name in self._names[1:]]
            wait_until(lambda: len(self._database._commits._queue) == len(others))  # type: ignore[attr-defined]
            self._may_end.set()
            return [one.exception() or one.result() for one in (first, *others)]


def nothing(transaction: Transaction, name: str) -> None:
    """Do nothing more in a write."""


def test_writes_that_wait_for_one_another_share_a_commit(database: Database, other: Database) -> None:
    names = [f"shared-{number}" for number in range(6)]
    writes = SharedWrites(database, other, names)
    assert writes.run(nothing) == [[name] for name in names]
    assert writes.commits == [[]]
    with database.write(shared=True) as transaction:  # alone, with a commit of its own
        transaction.put_fact("alone", "1")
    assert facts(other, "alone") == ["1"]


@pytest.mark.parametrize("bad", [{0}, {3}, {5}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4, 5}])
def test_a_write_that_fails_among_shared_ones_fails_alone(database: Database, other: Database, bad: set[int]) -> None:
    names = [f"shared-{number}" for number in range(6)]

    def fail(transaction: Transaction, name: str) -> None:
        if names.index(name) in bad:
            transaction.execute("delete from facts where name like 'shared-%'")
            raise ValueError(name)

    outcomes = SharedWrites(database, other, names).run(fail)
    assert [isinstance(one, ValueError) for one in outcomes] == [number in bad for number in range(6)]
    assert facts(other, *names) == [name for number, name in enumerate(names) if number not in bad]


def test_a_statement_that_fails_among_shared_writes_fails_alone(database: Database, other: Database) -> None:
    names = [f"shared-{number}" for number in range(4)]

    def repeat(transaction: Transaction, name: str) -> None:
        if name == "shared-2":
            transaction.execute("insert into facts (name, value) values ('shared-2', 'again')")

    outcomes = SharedWrites(database, other, names).run(repeat)
    assert [isinstance(one, Exception) for one in outcomes] == [False, False, True, False]
    assert facts(other, *names) == ["shared-0", "shared-1", "shared-3"]


def test_a_commit_that_fails_fails_every_write_that_shares_it(database: Database, other: Database) -> None:
    names = [f"shared-{number}" for number in range(4)]

    def spoil(transaction: Transaction, name: str) -> None:
        def fail() -> None:
            raise OSError("the disk fails")

        transaction.before_commit["spoil"] = fail

    outcomes = SharedWrites(database, other, names).run(spoil)
    assert [type(one) for one in outcomes] == [OSError] * 4
    assert facts(other, *names) == []
    with database.write() as transaction:
        transaction.put_fact("after", "1")
    assert facts(other, "after") == ["1"]


def test_writes_that_may_not_be_shared_are_not(database: Database, other: Database) -> None:
    names = [f"mixed-{number}" for number in range(24)]

    def write(number: int) -> bool:
        with database.write(shared=number % 3 > 0) as transaction:
            if number % 3 == 0:  # what it reads of the database is all there is
                assert facts(database, *names) == [
                    row[0] for row in transaction.read("select name from facts where name like 'mixed-%' order by name")
                ]
            transaction.put_fact(names[number], names[number])
        return facts(other, names[number]) == [names[number]]

    with ThreadPoolExecutor(12) as pool:
        assert all(pool.map(write, range(24)))
    assert facts(other, *names) == sorted(names)


@pytest.mark.parametrize("shared", [False, True])
def test_a_writer_that_writes_on_and_on_lets_others_come_in_their_turn(database: Database, *, shared: bool) -> None:
    order: list[str] = []
    is_writing, may_end = threading.Event(), threading.Event()

    def write(name: str) -> None:
        with database.write(shared=shared) as transaction:
            is_writing.set()
            may_end.wait()
            transaction.put_fact(name, "1")
            order.append(name)

    def write_on() -> None:
        for number in range(3):
            write(f"on-{number}")

    with ThreadPoolExecutor(3) as pool:
        writes = [pool.submit(write_on)]
        is_writing.wait()
        for count, name in enumerate(("first", "second"), 1):
            writes.append(pool.submit(write, name))
            wait_until(lambda count=count: len(database._commits._queue) == count)  # type: ignore[attr-defined, misc]
        may_end.set()
        for one in writes:
            one.result()
    assert order[:3] == ["on-0", "first", "second"]


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
