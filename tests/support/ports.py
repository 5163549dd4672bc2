"""Ports for servers that must be told which one to take."""

import random
import socket

_LOWEST, _HIGHEST = 10_000, 21_999
"""Below those the system gives to connections, so that no connection takes one before the server does."""

_RANDOM = random.SystemRandom()  # several test processes may have been given the same seed


def free_port(*, room_above: int = 0) -> int:
    """Return a port nobody listens on; with `room_above`, the one so much higher is free too."""
    while True:
        port = _RANDOM.randint(_LOWEST, _HIGHEST)
        with socket.socket() as low, socket.socket() as high:
            try:
                low.bind(("127.0.0.1", port))
                if room_above:
                    high.bind(("127.0.0.1", port + room_above))
            except OSError:
                continue
            return port


def free_ports(count: int, *, room_above: int = 0) -> list[int]:
    """Return several such ports."""
    found: set[int] = set()
    while len(found) < count:
        found.add(free_port(room_above=room_above))
    return list(found)
