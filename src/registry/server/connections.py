"""The open connections of a process: how many there may be, and which one makes room for another."""

import logging
import time
from typing import Literal, Protocol

from registry.server.intake import READ_BYTES
from registry.server.turns import Turns

_log = logging.getLogger("registry.server")

_WARNING_SECONDS = 60.0

_FRESH_SECONDS = 1.0
"""How long a caller may take to send the head of its request before its connection counts as idle."""

Awaited = Literal["head", "body"]


class Connection(Protocol):
    """What is asked of a connection."""

    def make_room(self) -> None:
        """Close at once."""


class Connections:
    """Connections by what they wait for, those that have waited longest first.

    At the limit, the connection that has waited longest for a request makes room for a new one, then the one that has
    waited longest for a body. A connection that has waited for less than a second is the last to go: its caller is
    about to send a request, and bodies that never end must not cost it its turn. A connection whose request is being
    answered never makes room.
    """

    def __init__(self, most: int) -> None:
        self.buffer = bytearray(READ_BYTES)
        """Where each read of the event loop goes."""

        self.turns = Turns()
        """The order in which connections with many requests go on."""

        self._most = most
        # The values are the times since when connections wait. Dictionaries keep the order in which they came.
        self._groups: dict[Awaited | None, dict[Connection, float]] = {"head": {}, "body": {}, None: {}}
        self._warned = float("-inf")

    def admit(self, connection: Connection) -> bool:
        """Add a connection that waits for its first head, and return whether there is room for it."""
        if sum(map(len, self._groups.values())) >= self._most:
            self._warn()
            dispensable = self._dispensable()
            if dispensable is None:
                return False
            self._remove(dispensable)
            dispensable.make_room()
        self._groups["head"][connection] = time.monotonic()
        return True

    def _dispensable(self) -> Connection | None:
        idle, sending = (next(iter(self._groups[awaited].items()), None) for awaited in ("head", "body"))
        if idle is not None and (sending is None or time.monotonic() - idle[1] >= _FRESH_SECONDS):
            return idle[0]
        return sending[0] if sending is not None else None

    def now_awaits(self, connection: Connection, awaited: Awaited | None) -> None:
        """Record what a connection waits for from now on; None is the application."""
        if self._remove(connection):
            self._groups[awaited][connection] = time.monotonic()

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._remove(connection)

    def _remove(self, connection: Connection) -> bool:
        return any(group.pop(connection, None) is not None for group in self._groups.values())

    def _warn(self) -> None:
        if time.monotonic() - self._warned >= _WARNING_SECONDS:
            self._warned = time.monotonic()
            _log.warning("%d connections are open: idle ones are closed for new ones (limits.connections)", self._most)
