"""The sockets the service listens on."""

import errno
import os
import socket
from typing import NamedTuple

_BACKLOG = 2048
_LOOPBACK = ("127.0.0.1", "::1")
_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - names the wildcards, binds nothing
"""The address at which programs on this machine reach a service that listens on all addresses."""

_NO_SUCH_ADDRESS = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


class ListenError(Exception):
    """The service cannot listen on the address. The message is one line for the operator."""


class Listener(NamedTuple):
    """Listening sockets, and the URL at which programs on this machine reach them."""

    url: str
    sockets: list[socket.socket]


def listen(host: str, port: int) -> Listener:
    """Listen on every address of `host`; `localhost` is both loopback addresses. Port 0 takes a free one.

    Raises:
        ListenError: The port is taken, or the address is not one of this machine's.
    """
    sockets: list[socket.socket] = []
    try:
        for address in _addresses(host, port):
            if (taken := _bind(address, port, optional=host == "localhost")) is not None:
                sockets.append(taken)
                port = taken.getsockname()[1]
    except (OSError, UnicodeError) as error:  # a name that cannot be in DNS is a UnicodeError
        for taken in sockets:
            taken.close()
        raise ListenError(f"cannot listen on {_url(host, port)}: {_reason(error)}") from None
    return Listener(_url(_REACHED_AT.get(host, host), port), sockets)


def _addresses(host: str, port: int) -> list[str]:
    if host == "localhost":
        return list(_LOOPBACK)
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys(str(address[4][0]) for address in infos))


def _bind(address: str, port: int, *, optional: bool) -> socket.socket | None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    both = address == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server((address, port), family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        if optional and family == socket.AF_INET6 and error.errno in _NO_SUCH_ADDRESS:
            return None
        raise


def _reason(error: OSError | UnicodeError) -> str:
    if isinstance(error, UnicodeError):
        return "the host name is invalid"
    if error.errno == errno.EADDRINUSE:
        return "the port is in use; --port chooses another"
    if isinstance(error, socket.gaierror):
        return "the host name is unknown"
    return os.strerror(error.errno).lower() if error.errno else str(error)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
