"""A credential that only its own origin gets: an API key or a token for one registry."""

from collections.abc import Mapping

from registry.domain.addresses import Endpoint, OutboundError, parse_url
from registry.domain.api import credential_header


class Credential:
    """An API key or a token for the origin (scheme, host and port) of a URL. No text shows it.

    Raises OutboundError for an invalid URL, and for characters that no header can carry.
    """

    __slots__ = ("_header", "_origin")

    def __init__(self, url: str, secret: str) -> None:
        if not secret or not secret.isascii() or not secret.isprintable():  # the HTTP library's error would show it
            raise OutboundError("the API key or token has characters that no HTTP header can carry")
        self._origin = parse_url(url).origin
        self._header = credential_header(secret)

    def header_for(self, target: Endpoint) -> Mapping[str, str]:
        """Return the header for a request to `target`: none if it has another origin."""
        return self._header if target.origin == self._origin else {}

    def __repr__(self) -> str:
        return "***"
