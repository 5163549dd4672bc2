"""What a server must refuse or read otherwise in a head that the parser accepts (RFC 9110 and 9112)."""

import re
from collections.abc import Sequence

from registry import errors

Headers = Sequence[tuple[bytes, bytes]]

_ABSOLUTE_FORM = re.compile(rb"https?://([^/?#@]+)([/?#].*)?", re.IGNORECASE)
_CHECKED = frozenset({b"transfer-encoding", b"expect"})


def check_head(method: bytes, version: str, headers: Headers) -> None:
    """Raise RegistryError for a method, a transfer coding or an expectation that this server cannot meet.

    Args:
        method: The method in upper case.
        version: The version of HTTP, `1.1` or `1.0`.
        headers: The headers with names in lower case.
    """
    if method == b"CONNECT":
        raise errors.bad_request("This server is no proxy: it has no CONNECT")
    checked = [(name, value) for name, value in headers if name in _CHECKED]
    if not checked:
        return
    codings = [value for name, value in checked if name == b"transfer-encoding"]
    if codings:
        _check_codings(version, b",".join(codings))
    if version != "1.0":  # an older client cannot expect anything (RFC 9110, section 10.1.1)
        for name, value in checked:
            if name == b"expect" and value.strip().lower() != b"100-continue":
                raise errors.expectation_failed()


def _check_codings(version: str, codings: bytes) -> None:
    if version == "1.0":
        # HTTP/1.0 knows no transfer codings: a proxy of that time takes the body for something else.
        raise errors.bad_request("A request of HTTP/1.0 cannot have a Transfer-Encoding")
    *others, last = [coding.strip().lower() for coding in codings.split(b",")]
    if last != b"chunked" or b"chunked" in others:
        raise errors.bad_request("The last Transfer-Encoding must be chunked, once")
    if others:
        raise errors.not_implemented("The only supported Transfer-Encoding is chunked")


def origin_form(target: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the target as path and query, and let the host of an absolute form (`GET http://host/`) decide.

    A server must ignore the `Host` header then (RFC 9112, section 3.2.2). So the value of the header is replaced; a
    request without one, or with two, stays as wrong as it is. Raises RegistryError for any other form of target.
    """
    if target.startswith(b"/") or target == b"*":
        return target
    parts = _ABSOLUTE_FORM.fullmatch(target)
    if parts is None:
        raise errors.bad_request("The target of the request is not a path or an http URL")
    hosts = [place for place, (name, _) in enumerate(headers) if name == b"host"]
    if len(hosts) == 1:
        headers[hosts[0]] = (b"host", parts[1])
    rest = parts[2] or b"/"
    return rest if rest.startswith(b"/") else b"/" + rest


def without_upgrade(method: bytes, target: bytes, version: str, headers: Headers) -> bytes:
    """Return a head as bytes, without the header that asks for another protocol."""
    lines = [b"%s %s HTTP/%s" % (method, target, version.encode())]
    lines.extend(b"%s: %s" % header for header in headers if header[0] != b"upgrade")
    return b"\r\n".join([*lines, b"", b""])
