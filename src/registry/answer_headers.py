"""Headers that answers carry besides their own, whatever part of the service makes them."""

from collections.abc import Sequence
from typing import Any

API = "/api/v1"
_API_VERSION = (b"x-api-version", b"v1")
_MORE_HEADERS = "more_headers"

_Headers = Sequence[tuple[bytes, bytes]]


def set_headers(scope: Any, headers: _Headers) -> None:
    """Have whatever answer a request will get carry these headers, besides its own."""
    scope["state"][_MORE_HEADERS] = headers


def more_headers(scope: Any) -> _Headers:
    """Return the headers that were set for the answer to a request."""
    headers: _Headers = scope["state"].get(_MORE_HEADERS, ())
    return headers


def identifying_headers(path: str, request_id: str) -> list[tuple[bytes, bytes]]:
    """Return the headers that every answer below `path` carries."""
    request_id_header = (b"x-request-id", request_id.encode("ascii"))
    if path == API or path.startswith(f"{API}/"):
        return [request_id_header, _API_VERSION]
    return [request_id_header]
