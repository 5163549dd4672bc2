"""Rate limits: requests a minute for each caller, and failed token requests for each address."""

import functools
import ipaddress
import math
import time
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, cast

from registry.auth.fixed_windows import Delta, FixedWindows
from registry.auth.shared_counts import SharedCounts
from registry.config.groups import LimitsSettings
from registry.errors import rate_limited

Rate = Literal["read", "write", "publish"]

_MINUTE = 60
_FAILURE_SECONDS = 5 * _MINUTE


class Quota(NamedTuple):
    """A caller's quota: the `limit` of a window, the `remaining` requests, and the seconds until the window resets."""

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
        """Whether the last counted request was above the limit."""
        return self.remaining < 0


@functools.lru_cache(4096)
def address_key(address: str) -> str:
    """Return the key an address is counted under: for IPv6 its /64 network, since one caller may own all of it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    network = ipaddress.IPv6Network((int(parsed), 64), strict=False)
    return str(parsed.ipv4_mapped or network)


class RateLimiter:
    """Counts requests in fixed windows.

    The workers of one machine have exact counts in a table that they share. `auth.rate_sharing` synchronizes the counts
    of replicas.
    """

    def __init__(self, limits: LimitsSettings, table: SharedCounts | None = None) -> None:
        self._counts = FixedWindows(table=table)
        self._limits: Mapping[Rate, int] = {
            "read": limits.reads_per_minute,
            "write": limits.writes_per_minute,
            "publish": limits.publishes_per_minute,
        }
        self._failures = limits.token_failures

    def count(self, caller: str, rate: Rate) -> Quota:
        """Count a request and return the remaining quota."""
        key, limit = f"{rate}/{caller}", self._limits[rate]
        return Quota(limit, limit - self._counts.incr(key, _MINUTE), self._seconds_left(key))

    def left(self, caller: str, rate: Rate) -> Quota:
        """Return the remaining quota of a caller, after one more request that is not counted yet."""
        key, limit = f"{rate}/{caller}", self._limits[rate]
        return Quota(limit, limit - 1 - self._counts.get(key), self._seconds_left(key))

    def failures(self, address: str) -> Quota:
        """Return the remaining quota of failed token requests of an address, after one more failure."""
        key = _failure_key(address)
        return Quota(self._failures, self._failures - 1 - self._counts.get(key), self._seconds_left(key))

    def refuse_after_failures(self, address: str, message: str) -> None:
        """Raise RATE_LIMITED, with a message, for an address that has no failure left."""
        failures = self.failures(address)
        if failures.is_exceeded:
            raise rate_limited(message, failures.reset_seconds)

    def count_failure(self, address: str) -> Quota:
        """Count a failed token request and return the remaining quota."""
        key = _failure_key(address)
        return Quota(self._failures, self._failures - self._counts.incr(key, _FAILURE_SECONDS), self._seconds_left(key))

    def forgive(self, address: str) -> None:
        """Undo a failure that was counted in advance, for a request that then succeeded."""
        self._counts.decr(_failure_key(address))

    def drain(self) -> Sequence[Delta]:
        """Return the deltas since the last merge, of callers that have used more than a twentieth of their limit."""
        return self._counts.drain(self._sync_threshold)

    def _sync_threshold(self, key: str) -> int:
        kind = key.partition("/")[0]
        return (self._failures if kind == "token" else self._limits[cast(Rate, kind)]) // 20

    def merge(self, delta: Delta, total: int, ends_at: float) -> None:
        """Merge the total and the end of a window over all processes. The total includes `delta`."""
        self._counts.merge(delta, total, ends_at)

    def _seconds_left(self, key: str) -> int:
        return max(1, math.ceil(self._counts.get_expiry(key) - time.time()))


def _failure_key(address: str) -> str:
    return f"token/{address_key(address)}"
