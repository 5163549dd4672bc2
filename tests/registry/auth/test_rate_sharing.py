"""Rate limit sync: each process counts alone, and merges the counts of the others in between."""

import pytest

from registry.auth.rate_limits import RateLimiter
from registry.auth.rate_sharing import RateLimitSync
from registry.config.groups import LimitsSettings
from registry.db import Database

LIMITS = LimitsSettings(reads_per_minute=100, writes_per_minute=10, token_failures=3)


class Process:
    """The limiter of one process, and its sync."""

    def __init__(self, database: Database) -> None:
        self.limiter = RateLimiter(LIMITS)
        self.sync = RateLimitSync(database, self.limiter).sync


@pytest.fixture
def processes(database: Database) -> tuple[Process, Process, Process]:
    return Process(database), Process(database), Process(database)


def count_and_sync(*processes: Process) -> None:
    for process in processes * 2:
        process.limiter.count("ada", "write")
        process.sync()


def test_the_remaining_quota_includes_the_counts_of_all_processes(processes: tuple[Process, Process, Process]) -> None:
    count_and_sync(*processes)
    remaining = [process.limiter.count("ada", "write").remaining for process in processes]
    assert remaining == [10 - 4 - 1, 10 - 5 - 1, 10 - 6 - 1]
    assert not processes[0].limiter.count("bob", "write").is_exceeded
    count_and_sync(*processes)
    assert all(process.limiter.count("ada", "write").is_exceeded for process in processes)


def test_the_first_process_sets_the_end_of_a_window_for_all(processes: tuple[Process, Process, Process]) -> None:
    first, second, _ = processes
    for _ in range(2):
        first.limiter.count("ada", "write")
    first.sync()
    ends_at = first.limiter._counts.get_expiry("write/ada")
    for _ in range(2):
        second.limiter.count("ada", "write")
    second.sync()
    assert second.limiter._counts.get_expiry("write/ada") == ends_at


def test_failures_are_synced_from_the_first_one_and_can_be_forgiven(
    processes: tuple[Process, Process, Process],
) -> None:
    for process in processes:
        process.limiter.count_failure("192.0.2.1")
        process.sync()
    assert processes[2].limiter.failures("192.0.2.1").is_exceeded
    processes[2].limiter.forgive("192.0.2.1")
    processes[2].sync()
    processes[0].limiter.count_failure("192.0.2.1")
    processes[0].sync()
    assert processes[0].limiter.failures("192.0.2.1").is_exceeded


def test_a_caller_that_has_used_little_costs_no_write(
    processes: tuple[Process, Process, Process], database: Database
) -> None:
    for _ in range(5):
        processes[0].limiter.count("ada", "read")
    processes[0].sync()
    assert database.read("select key from rate_windows") == []
    processes[0].limiter.count("ada", "read")
    processes[0].sync()
    assert database.read("select key, made from rate_windows") == [("read/ada", 6)]


def test_an_expired_window_starts_again_at_zero(
    processes: tuple[Process, Process, Process], database: Database
) -> None:
    with database.write() as transaction:
        transaction.execute(
            "insert into rate_windows (key, made, ends_at) values ('write/ada', 1000, 1.5), ('write/bob', 1000, 1.5)"
        )
    processes[0].limiter.count("ada", "write")
    processes[0].sync()
    assert processes[0].limiter.count("ada", "write").remaining == 8
    assert database.read("select key, made from rate_windows") == [("write/ada", 1)]
