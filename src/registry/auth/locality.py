"""Decides whether a request comes from a program on this machine, of the user that runs the service.

A reverse proxy on this machine also connects from loopback, for callers anywhere. Some proxies say so in a header, and
some keep the caller's `Host`. With its default configuration, nginx does neither: `proxy_pass http://127.0.0.1:8080`
sends `Host: 127.0.0.1:8080` and no other trace. But its processes belong to a user of their own, and the kernel knows
which user a connection on this machine belongs to.
"""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from registry.auth.connection_owner import Address, owner_of
from registry.domain.hosts import is_loopback_address, is_loopback_host

_FORWARDING = frozenset(
    {
        b"cf-connecting-ip",
        b"forwarded",
        b"true-client-ip",
        b"via",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-original-forwarded-for",
        b"x-original-host",
        b"x-real-ip",
    }
)
_ROOT = 0

Headers = Iterable[tuple[bytes, bytes]]


class Connection(NamedTuple):
    """Both ends of the connection that a request came on, None where unknown, and the version of HTTP."""

    client: Address | None
    server: Address | None
    http_version: str = "1.1"


def is_forwarded(headers: Headers) -> bool:
    """Return whether a proxy has added a header to a request."""
    return any(name in _FORWARDING or name.startswith(b"x-forwarded") for name, _ in headers)


def why_not_local(
    headers: Headers, connection: Connection, ask: Callable[[Address, Address], int | None] = owner_of
) -> str | None:
    """Return why a request may come from elsewhere; None if a program of this user or of root has sent it.

    Where the system does not say whose a connection is (not Linux), the headers and addresses decide. `ask`
    tells the owner of a connection, for each request anew, because a process may pass a connection on to another.
    Raises what `ask` raises.
    """
    headers = list(headers)
    hosts = [value for name, value in headers if name == b"host"]
    if is_forwarded(headers):
        return "a proxy has forwarded the request"
    if connection.http_version == "1.0":  # what nginx before 1.29.7 sends by default
        return "the request uses HTTP/1.0, as proxies do"
    if len(hosts) != 1 or not is_loopback_host(hosts[0].decode("latin-1")):
        return "the host that the request names is not loopback"
    if connection.client is None or connection.server is None or not is_loopback_address(connection.client[0]):
        return "the request comes from another machine"
    if ask(connection.client, connection.server) not in {None, _ROOT, os.geteuid()}:
        return "a program of another user of this machine has sent the request, maybe a proxy"
    return None
