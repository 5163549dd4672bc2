"""Rate limits: each caller has its own counts, with separate ones for reads and writes."""

import pytest

from registry.auth.rate_limits import RateLimiter, address_key
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
