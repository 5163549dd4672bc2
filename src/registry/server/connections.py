"""The open connections of a process: how many there may be, and which one makes room for another."""

import logging
import time
from typing import Literal, Protocol

from registry.server.intake import READ_BYTES
from registry.server.turns import Turns

_log = logging.getLogger("registry.server")

_WARNING_SECONDS = 60.0

Awaited = Literal["head", "body"]


class Connection(Protocol):
    """What is asked of a connection."""

    def make_room(self) -> None:
        """Close at once."""


class Connections:
    """Connections by what they wait for, those that have waited longest first.

    At the limit, the connection that has waited longest for a request makes room for a new one, then the one that has
    waited longest for a body. A connection whose request is being answered never does.
    """

    def __init__(self, most: int) -> None:
        self.buffer = bytearray(READ_BYTES)
        """Where each read of the event loop goes."""

        self.turns = Turns()
        """The order in which connections with many requests go on."""

        self._most = most
        # Dictionaries keep the order in which connections came.
        self._groups: dict[Awaited | None, dict[Connection, None]] = {"head": {}, "body": {}, None: {}}
        self._warned = float("-inf")

    def admit(self, connection: Connection) -> bool:
        """Add a connection that waits for its first head, and return whether there is room for it."""
        if sum(map(len, self._groups.values())) >= self._most:
            self._warn()
            waiting = self._groups["head"] or self._groups["body"]
            if not waiting:
                return False
            longest = next(iter(waiting))
            del waiting[longest]
            longest.make_room()
        self._groups["head"][connection] = None
        return True

    def now_awaits(self, connection: Connection, awaited: Awaited | None) -> None:
        """Record what a connection waits for from now on; None is the application."""
        if self._remove(connection):
            self._groups[awaited][connection] = None

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._remove(connection)

    def _remove(self, connection: Connection) -> bool:
        return any(group.pop(connection, False) is None for group in self._groups.values())

    def _warn(self) -> None:
        if time.monotonic() - self._warned >= _WARNING_SECONDS:
            self._warned = time.monotonic()
            _log.warning("%d connections are open: idle ones are closed for new ones (limits.connections)", self._most)
