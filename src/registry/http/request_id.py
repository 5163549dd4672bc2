"""The id of every request: the caller's `X-Request-ID` if it is well formed, else a new one."""

import random
import re
from typing import Any

from registry.http.request_state import request_state

_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")


_RANDOM = random.Random()  # noqa: S311 - an id is no secret
"""Seeded once. `secrets` makes a system call for each id, which releases the GIL, and a busy process waits for it."""


def new_request_id() -> str:
    """Return 16 random hexadecimal digits."""
    return f"{_RANDOM.getrandbits(64):016x}"


def request_id_of(scope: Any) -> str:
    """Return the id of the request that the ASGI `scope` describes. The first call settles it."""
    state = request_state(scope)
    if not state.request_id:
        inbound = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        state.request_id = inbound.decode("ascii") if _SANE.fullmatch(inbound) else new_request_id()
    return state.request_id
