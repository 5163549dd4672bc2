"""Tells which user of this machine is at the other end of a connection over loopback, on Linux."""

import ipaddress
import socket
import struct
import sys
import threading
from pathlib import Path

Address = tuple[str, int]
"""An IP address and a port."""

NOBODY = -1
"""The owner of a connection that the kernel does not know, or that its process has closed."""

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_STATE_FIELD, _USER_FIELD = 3, 7
_OPEN = frozenset({1, 8})
"""ESTABLISHED and CLOSE_WAIT: the other states may show root as the owner, because no process holds the connection."""

_SOCK_DIAG = 4  # the netlink protocol (linux/netlink.h)
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY (linux/sock_diag.h)
_REQUEST = 1  # NLM_F_REQUEST
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_QUERY = struct.Struct("=BBBxI")  # struct inet_diag_req_v2, up to its socket
_ANY_COOKIE = b"\xff" * 8
_ANSWER = struct.Struct("=xB62xI")  # struct inet_diag_msg: `idiag_state`, `idiag_uid`
_PATIENCE_SECONDS = 1.0

_kernel_tells = threading.Event()
"""Set once the kernel has answered. Its first answer may take long, because it may have to load a module for it."""


class OwnerUnknown(Exception):
    """The owner of a connection cannot be told at once."""


def owner_of(client: Address, server: Address) -> int | None:
    """Return the id of the user whose process holds the client's end of a connection.

    None where the system does not tell, `NOBODY` where there is no such connection.
    """
    owner = _ask_kernel(client, server)
    return _read_tables(client, server) if owner is None else owner


def owner_at_once(client: Address, server: Address) -> int:
    """Return the same within 0.02 ms, for the event loop. Raises OwnerUnknown where that may take longer."""
    owner = _ask_kernel(client, server, 0) if _kernel_tells.is_set() else None
    if owner is None:
        raise OwnerUnknown
    return owner


def _ask_kernel(client: Address, server: Address, seconds: float = _PATIENCE_SECONDS) -> int | None:
    """Return the owner, None if the kernel does not answer or does not know: some have no `inet_diag`."""
    if not hasattr(socket, "AF_NETLINK"):
        return None
    family = socket.AF_INET6 if ":" in client[0] else socket.AF_INET
    ends = b"".join(_packed(end).ljust(16, b"\0") for end in (client, server))
    connection = struct.pack("!HH", client[1], server[1]) + ends + struct.pack("=I", 0) + _ANY_COOKIE
    query = _QUERY.pack(family, socket.IPPROTO_TCP, 0, 0xFFF) + connection
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as asking:
            asking.settimeout(seconds)
            asking.send(_HEADER.pack(_HEADER.size + len(query), _BY_FAMILY, _REQUEST, 1, 0) + query)
            answer = asking.recv(4096)
    except OSError:
        return None
    _, kind, *_ = _HEADER.unpack_from(answer)
    if kind != _BY_FAMILY:
        return None
    _kernel_tells.set()
    return _owner(*_ANSWER.unpack_from(answer, _HEADER.size))


def _owner(state: int, user: int) -> int:
    return user if state in _OPEN else NOBODY


def _packed(end: Address) -> bytes:
    return ipaddress.ip_address(end[0]).packed


def _read_tables(client: Address, server: Address) -> int | None:
    """Return the owner as the kernel's tables list it: slower, but present in every Linux."""
    owner = None
    for table in _TABLES:
        try:
            rows = table.read_text("ascii")
        except OSError:
            continue
        owner = NOBODY
        for is_mapped in (False, True):
            start = rows.find(f": {_listed(client, is_mapped)} {_listed(server, is_mapped)} ")
            if start >= 0:
                row = rows[start + 1 : rows.find("\n", start)].split()
                return _owner(int(row[_STATE_FIELD - 1], 16), int(row[_USER_FIELD - 1]))
    return owner


def _listed(end: Address, is_mapped: bool) -> str:
    """Return an address and a port as the tables show them: hexadecimal words in the order of the processor."""
    address = ipaddress.ip_address(end[0])
    address = getattr(address, "ipv4_mapped", None) or address
    packed = address.packed
    if is_mapped and len(packed) == 4:
        packed = ipaddress.ip_address(f"::ffff:{address}").packed
    words = [int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4)]
    return f"{''.join(f'{word:08X}' for word in words)}:{end[1]:04X}"
