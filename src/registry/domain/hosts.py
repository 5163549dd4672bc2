"""Host names in requests, settings and URLs, with or without brackets and port."""

import ipaddress
import re
from urllib.parse import urlsplit

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")


def bare(host: str) -> str:
    """Return a host that has no port in lower case and without brackets."""
    return host.lower().removeprefix("[").removesuffix("]")


def host_of(value: str) -> str | None:
    """Return the host of a `Host` value without port and brackets; None for an invalid value."""
    match = _HOST.fullmatch(value.lower())
    return bare(match[1]) if match else None


def is_loopback_host(host: str) -> bool:
    """Return whether a `Host` value, with or without port, or a bind address is a loopback address."""
    name = host if ":" in host and not host.startswith("[") and host.count(":") > 1 else host_of(host)
    if name is None:
        return False
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_loopback_address(address: str) -> bool:
    """Return whether a text is an IP address of loopback."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_private_url(url: str) -> bool:
    """Return whether a URL is of https, or of http on this machine: nothing on the way reads what is sent there."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback_host(parts.netloc))
