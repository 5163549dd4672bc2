"""How many requests of one kind may be in progress at a time: of one caller, and of all of them."""

from collections import Counter
from typing import Any

from registry.auth.rate_limits import address_key
from registry.errors import rate_limited, service_unavailable
from registry.http.admission import client_address
from registry.http.request_state import request_state

_RETRY_SECONDS = 2


class RequestsInProgress:
    """Counts requests from their begin to their end, in the event loop.

    Args:
        plural: What they are, for the message to callers.
        of_caller: How many one caller may have at a time. A caller without a credential is counted by its address.
        of_all: How many all callers of the process may have together.
    """

    def __init__(self, plural: str, *, of_caller: int, of_all: int) -> None:
        self._plural = plural
        self._of_caller = of_caller
        self._of_all = of_all
        self._open: Counter[str] = Counter()

    def begin(self, scope: Any) -> None:
        """Count a request until it ends. Raises RATE_LIMITED, SERVICE_UNAVAILABLE."""
        caller = caller_of(scope)
        if self._open[caller] >= self._of_caller:
            message = f"You have {self._of_caller} {self._plural} in progress: let one end first"
            raise rate_limited(message, _RETRY_SECONDS)
        if self._open.total() >= self._of_all:
            raise service_unavailable(f"Too many {self._plural} are in progress: try again later", _RETRY_SECONDS)
        self._open[caller] += 1
        request_state(scope).at_end(lambda: self._end(caller))

    def _end(self, caller: str) -> None:
        self._open[caller] -= 1
        if not self._open[caller]:
            del self._open[caller]


def caller_of(scope: Any) -> str:
    """Return the name by which the caller of a request is counted: its account, or without a credential its address."""
    principal = request_state(scope).principal
    if principal is None or principal.credential is None:
        return f"address {address_key(client_address(scope))}"
    return principal.account
