"""Limits the downloads in progress: those of one caller, and all of this process."""

from collections import Counter
from typing import Any

from registry.auth.rate_limits import address_key
from registry.errors import rate_limited, service_unavailable
from registry.http.admission import client_address
from registry.http.request_state import request_state
from registry.http.thread_pools import PACKAGE_POOL

_RETRY_SECONDS = 2


class OpenDownloads:
    """Counts downloads from their begin to the end of their requests, in the event loop.

    Args:
        of_caller: How many one caller may have at a time. A caller without a credential is counted by its address.
    """

    def __init__(self, of_caller: int) -> None:
        self._of_caller = of_caller
        self._open: Counter[str] = Counter()

    def begin(self, scope: Any) -> None:
        """Count the download of a request until the request ends. Raises RATE_LIMITED, SERVICE_UNAVAILABLE."""
        caller = _caller(scope)
        if self._open[caller] >= self._of_caller:
            raise rate_limited(f"You have {self._of_caller} downloads in progress: let one end first", _RETRY_SECONDS)
        # As many as may wait for a thread, so that none is refused one in the middle.
        if self._open.total() >= PACKAGE_POOL.queue:
            raise service_unavailable("Too many downloads are in progress: try again later", _RETRY_SECONDS)
        self._open[caller] += 1
        request_state(scope).at_end(lambda: self._end(caller))

    def _end(self, caller: str) -> None:
        self._open[caller] -= 1
        if not self._open[caller]:
            del self._open[caller]


def _caller(scope: Any) -> str:
    principal = request_state(scope).principal
    if principal is None or principal.credential is None:
        return f"address {address_key(client_address(scope))}"
    return principal.name
