"""Headers that identify a response, whatever part of the service makes it."""

from registry.domain.api import API

_API_VERSION = (b"x-api-version", b"v1")


def identifying_headers(path: str, request_id: str) -> list[tuple[bytes, bytes]]:
    """Return the headers that every response below `path` carries."""
    request_id_header = (b"x-request-id", request_id.encode("ascii"))
    if path == API or path.startswith(f"{API}/"):
        return [request_id_header, _API_VERSION]
    return [request_id_header]
