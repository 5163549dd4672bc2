"""Hosts as requests and settings name them: in brackets or not, with a port or without."""

import ipaddress
import re

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")


def bare(host: str) -> str:
    """Return a host without port in small letters and without brackets."""
    return host.lower().removeprefix("[").removesuffix("]")


def host_of(value: str) -> str | None:
    """Return the bare host of a `Host` value, with or without port; None where it is not one."""
    match = _HOST.fullmatch(value.lower())
    return bare(match[1]) if match else None


def is_loopback_host(host: str) -> bool:
    """Return whether a `Host` value, with or without port, or a bind address, is this machine to itself."""
    name = host if ":" in host and not host.startswith("[") and host.count(":") > 1 else host_of(host)
    if name is None:
        return False
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
