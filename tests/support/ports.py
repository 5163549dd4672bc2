"""Ports for servers that must be told which one to take."""

import fcntl
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path

_LOWEST, _HIGHEST = 10_000, 21_999
"""Below those the system gives to connections, so that no connection takes one before the server does."""

_RANDOM = random.SystemRandom()  # several test processes may have been given the same seed
_CLAIMED: set[int] = set()


@cache
def _claims() -> int:
    """Return the open file whose byte number n is locked by the process that has port n."""
    return os.open(Path(tempfile.gettempdir()) / f"skill-registry-ports-{os.getuid()}", os.O_RDWR | os.O_CREAT, 0o600)


def _claim(port: int) -> bool:
    """Claim a port until this process ends: its server may stop and start again, and no other test takes it."""
    if port in _CLAIMED:
        return False
    try:
        fcntl.lockf(_claims(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    _CLAIMED.add(port)
    return True


def free_port(*, room_above: int = 0) -> int:
    """Return a port nobody listens on or has claimed; with `room_above`, the one so much higher is free too."""
    while True:
        port = _RANDOM.randint(_LOWEST, _HIGHEST)
        with socket.socket() as low, socket.socket() as high:
            try:
                low.bind(("127.0.0.1", port))
                if room_above:
                    high.bind(("127.0.0.1", port + room_above))
            except OSError:
                continue
            if _claim(port):
                return port


def free_ports(count: int, *, room_above: int = 0) -> list[int]:
    """Return several such ports."""
    found: set[int] = set()
    while len(found) < count:
        found.add(free_port(room_above=room_above))
    return list(found)
