"""Limits shared by processes: each counts alone, and learns in between what the others have counted."""

import pytest

from registry.auth.rate_limits import RateLimiter
from registry.auth.rate_sharing import RateLimitSync
from registry.config.groups import LimitsSettings
from registry.db import Database

LIMITS = LimitsSettings(reads_per_minute=100, writes_per_minute=10, token_failures=3)


class Process:
    """One process's limiter, and what shares it."""

    def __init__(self, database: Database) -> None:
        self.limiter = RateLimiter(LIMITS)
        self.share = RateLimitSync(database, self.limiter).share


@pytest.fixture
def processes(database: Database) -> tuple[Process, Process, Process]:
    return Process(database), Process(database), Process(database)


def share(*processes: Process) -> None:
    for one in processes * 2:
        one.limiter.count("ada", "write")
        one.share()


def test_what_a_caller_has_left_is_what_all_have_counted(processes: tuple[Process, Process, Process]) -> None:
    share(*processes)
    assert [one.limiter.count("ada", "write").remaining for one in processes] == [10 - 4 - 1, 10 - 5 - 1, 10 - 6 - 1]
    assert not processes[0].limiter.count("bob", "write").is_exceeded
    share(*processes)
    assert all(one.limiter.count("ada", "write").is_exceeded for one in processes)


def test_a_window_ends_for_all_when_it_does_for_the_first(processes: tuple[Process, Process, Process]) -> None:
    first, second, _ = processes
    for _ in range(2):
        first.limiter.count("ada", "write")
    first.share()
    ends_at = first.limiter._counts.get_expiry("write/ada")
    for _ in range(2):
        second.limiter.count("ada", "write")
    second.share()
    assert second.limiter._counts.get_expiry("write/ada") == ends_at


def test_failures_are_shared_from_the_first_and_can_be_taken_back(processes: tuple[Process, Process, Process]) -> None:
    for one in processes:
        one.limiter.count_failure("192.0.2.1")
        one.share()
    assert processes[2].limiter.failures("192.0.2.1").is_exceeded
    processes[2].limiter.forgive("192.0.2.1")
    processes[2].share()
    processes[0].limiter.count_failure("192.0.2.1")
    processes[0].share()
    assert processes[0].limiter.failures("192.0.2.1").is_exceeded


def test_who_has_used_little_costs_no_write(processes: tuple[Process, Process, Process], database: Database) -> None:
    for _ in range(5):
        processes[0].limiter.count("ada", "read")
    processes[0].share()
    assert database.read("select key from rate_windows") == []
    processes[0].limiter.count("ada", "read")
    processes[0].share()
    assert database.read("select key, made from rate_windows") == [("read/ada", 6)]


def test_a_window_that_is_over_begins_anew(processes: tuple[Process, Process, Process], database: Database) -> None:
    with database.write() as transaction:
        transaction.execute("insert into rate_windows values ('write/ada', 1000, 1.5), ('write/bob', 1000, 1.5)")
    processes[0].limiter.count("ada", "write")
    processes[0].share()
    assert processes[0].limiter.count("ada", "write").remaining == 8
    assert database.read("select key, made from rate_windows") == [("write/ada", 1)]
