"""Rate limits: each caller has its own counts, with separate ones for reads and writes."""

from pathlib import Path

import pytest

from registry.auth.fixed_windows import FixedWindows
from registry.auth.rate_limits import RateLimiter, address_key
from registry.auth.shared_counts import SharedCounts
from registry.config.groups import LimitsSettings


@pytest.fixture
def limiter() -> RateLimiter:
    return RateLimiter(LimitsSettings(reads_per_minute=3, writes_per_minute=1, token_failures=2))


def test_a_caller_has_a_limited_number_of_requests_a_minute(limiter: RateLimiter) -> None:
    quotas = [limiter.count("ada", "read") for _ in range(5)]
    assert [quota.remaining for quota in quotas] == [2, 1, 0, -1, -2]
    assert [quota.is_exceeded for quota in quotas] == [False, False, False, True, True]
    assert all(0 < quota.reset_seconds <= 60 for quota in quotas)


def test_callers_and_rates_have_separate_counts(limiter: RateLimiter) -> None:
    limiter.count("ada", "write")
    assert limiter.count("ada", "write").is_exceeded
    assert not limiter.count("bob", "write").is_exceeded
    assert limiter.count("ada", "read").remaining == 2


def test_the_remaining_header_is_never_negative(limiter: RateLimiter) -> None:
    quota = [limiter.count("ada", "write") for _ in range(3)][-1]
    headers = dict(quota.headers())
    assert (headers[b"ratelimit-limit"], headers[b"ratelimit-remaining"]) == (b"1", b"0")


def test_failures_are_counted_by_address_and_can_be_forgiven(limiter: RateLimiter) -> None:
    assert [limiter.count_failure("::1").is_exceeded for _ in range(3)] == [False, False, True]
    assert limiter.failures("::1").is_exceeded
    assert not limiter.failures("127.0.0.1").is_exceeded
    limiter.forgive("::1")
    limiter.forgive("::1")
    assert not limiter.failures("::1").is_exceeded
    assert 0 < limiter.failures("::1").reset_seconds <= 300


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("unknown", "unknown"),
        ("-", "-"),
    ],
)
def test_an_ipv6_network_counts_as_one_caller(address: str, expected: str) -> None:
    assert address_key(address) == expected


@pytest.fixture
def workers(tmp_path: Path) -> tuple[RateLimiter, RateLimiter]:
    SharedCounts.create(tmp_path, 2)
    limits = LimitsSettings(reads_per_minute=10, token_failures=3)
    first, second = (RateLimiter(limits, SharedCounts(tmp_path / "rate-limits", worker, 2)) for worker in (0, 1))
    return first, second


def test_workers_count_together(workers: tuple[RateLimiter, RateLimiter]) -> None:
    remaining = [workers[number % 2].count("ada", "read").remaining for number in range(11)]
    assert remaining == list(range(9, -2, -1))
    assert workers[1].count("bob", "read").remaining == 9
    for worker in (*workers, workers[0]):
        worker.count_failure("192.0.2.1")
    assert all(worker.failures("192.0.2.1").is_exceeded for worker in workers)
    workers[0].forgive("192.0.2.1")
    assert not workers[1].failures("192.0.2.1").is_exceeded


def test_shared_windows_end_together_and_begin_again_at_one(tmp_path: Path) -> None:
    SharedCounts.create(tmp_path, 2)
    time = [1000.0]
    first, second = (
        FixedWindows(lambda: time[0], SharedCounts(tmp_path / "rate-limits", worker, 2)) for worker in (0, 1)
    )
    assert first.incr("ada", 60) == 1
    time[0] += 30
    assert [second.incr("ada", 60), first.incr("ada", 60)] == [2, 3]
    assert first.get_expiry("ada") == second.get_expiry("ada") == 1060
    assert second.get("ada") == 3
    time[0] += 31
    assert (first.get("ada"), second.get("ada")) == (0, 0)
    assert [second.incr("ada", 60), first.incr("ada", 60)] == [1, 2]
    assert first.get_expiry("ada") == second.get_expiry("ada") == 1121


def test_many_callers_are_counted_apart_or_by_each_worker_alone(tmp_path: Path) -> None:
    SharedCounts.create(tmp_path, 2)
    windows = FixedWindows(table=SharedCounts(tmp_path / "rate-limits", 0, 2))
    assert {windows.incr(str(number), 60) for number in range(30_000)} == {1}
    assert {windows.incr(str(number), 60) for number in range(30_000)} == {2}


def test_workers_without_a_table_count_alone(tmp_path: Path) -> None:
    assert SharedCounts.opened(tmp_path, 0, 2) is None
    (tmp_path / "rate-limits").write_bytes(bytes(100))
    assert SharedCounts.opened(tmp_path, 0, 2) is None
