"""Headers that identify a response and say who may keep it, whatever part of the service makes it."""

from collections.abc import Iterable

from registry.domain.api import API

_API_VERSION = (b"x-api-version", b"v1")
_FOR_THE_CALLER = (b"cache-control", b"private, no-cache")


def identifying_headers(path: str, request_id: str) -> list[tuple[bytes, bytes]]:
    """Return the headers that every response below `path` carries."""
    request_id_header = (b"x-request-id", request_id.encode("ascii"))
    if path == API or path.startswith(f"{API}/"):
        return [request_id_header, _API_VERSION]
    return [request_id_header]


def caching_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the header that lets only the caller keep a response, and ask again, unless `headers` say how to keep it.

    What a caller may read depends on its credential. Shared caches know that of `Authorization` (RFC 9111, section
    3.5), but not of `x-api-key`.
    """
    return [] if any(name == b"cache-control" for name, _ in headers) else [_FOR_THE_CALLER]
