"""The id every request has: the caller's own if it is a sane one, else a new one."""

import re
import secrets
from collections.abc import Mapping
from typing import Any

_SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_KEY = "request_id"


def new_request_id(inbound: bytes | None = None) -> str:
    """Return `inbound`, the caller's `X-Request-ID`, if it is sane, else 16 random hexadecimal digits."""
    if inbound and _SANE.fullmatch(inbound):
        return inbound.decode("ascii")
    return secrets.token_hex(8)


def keep_request_id(scope: Any, request_id: str) -> None:
    """Make `request_id` the id of the request `scope` describes."""
    scope.setdefault("state", {})[_KEY] = request_id


def request_id_of(scope: Mapping[str, Any]) -> str:
    """Return the id of the request `scope` describes; `-` where the request log is not in place."""
    return str(scope.get("state", {}).get(_KEY, "-"))
