"""Rate limits: how many requests a caller may make in a minute, and how often an address may fail to get a token."""

import functools
import ipaddress
import math
import time
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, cast

from registry.auth.fixed_windows import Added, FixedWindows
from registry.config.groups import LimitsSettings

Rate = Literal["read", "write", "publish"]

_MINUTE = 60
_FAILURE_SECONDS = 5 * _MINUTE


class Quota(NamedTuple):
    """What a caller has left: of `limit` requests a window, `remaining`, and the seconds until all are back."""

    limit: int
    remaining: int
    reset_seconds: int

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the `RateLimit` header fields (draft-ietf-httpapi-ratelimit-headers-06), encoded."""
        return [
            (b"ratelimit-limit", b"%d" % self.limit),
            (b"ratelimit-remaining", b"%d" % max(self.remaining, 0)),
            (b"ratelimit-reset", b"%d" % self.reset_seconds),
        ]

    @property
    def is_exceeded(self) -> bool:
        """Whether the request that was counted last is one too many."""
        return self.remaining < 0


@functools.lru_cache(4096)
def counted_as(address: str) -> str:
    """Return what an address is counted as: of IPv6 its network of 64 bits, all of which one caller may have."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    network = ipaddress.IPv6Network((int(parsed), 64), strict=False)
    return str(parsed.ipv4_mapped or network)


class RateLimiter:
    """Counts requests in fixed windows. With several processes `auth.sharing` tells each what the others count."""

    def __init__(self, limits: LimitsSettings) -> None:
        self._counts = FixedWindows()
        self._limits: Mapping[Rate, int] = {
            "read": limits.reads_per_minute,
            "write": limits.writes_per_minute,
            "publish": limits.publishes_per_minute,
        }
        self._failures = limits.token_failures

    def count(self, caller: str, rate: Rate) -> Quota:
        """Count a request and return what is left."""
        key, limit = f"{rate}/{caller}", self._limits[rate]
        return Quota(limit, limit - self._counts.incr(key, _MINUTE), self._seconds_left(key))

    def failures(self, address: str) -> Quota:
        """Return how many more failures to get a token an address has; none is left when it is exceeded."""
        key = _failure_key(address)
        return Quota(self._failures, self._failures - 1 - self._counts.get(key), self._seconds_left(key))

    def count_failure(self, address: str) -> Quota:
        """Count a failure to get a token and return what is left."""
        key = _failure_key(address)
        return Quota(self._failures, self._failures - self._counts.incr(key, _FAILURE_SECONDS), self._seconds_left(key))

    def forgive(self, address: str) -> None:
        """Take back a failure that was counted before it was known to be none."""
        self._counts.decr(_failure_key(address))

    def drain(self) -> Sequence[Added]:
        """Return what was counted since the others were told, of callers that have used up a twentieth of a limit."""
        return self._counts.drain(self._worth_telling)

    def _worth_telling(self, key: str) -> int:
        kind = key.partition("/")[0]
        return (self._failures if kind == "token" else self._limits[cast(Rate, kind)]) // 20

    def learn(self, added: Added, total: int, ends_at: float) -> None:
        """Take over what all processes have counted together, `added` included, and until when."""
        self._counts.learn(added, total, ends_at)

    def _seconds_left(self, key: str) -> int:
        return max(1, math.ceil(self._counts.get_expiry(key) - time.time()))


def _failure_key(address: str) -> str:
    return f"token/{counted_as(address)}"
