"""Watches that the other end of a connection reads what is sent to it."""

import asyncio
import contextlib
import fcntl
import struct
import termios
from collections.abc import Callable

_MINIMUM_BYTES = 64 * 1024
"""What the other end must read in one interval, or all that was waiting for it."""

_UNSENT_BYTES = 128 * 1024
"""What the kernel queues of a response. The default grows to several MiB for each connection that does not read."""

_TCP_NOTSENT_LOWAT = 25
"""Linux's number; Python has no name for it."""


class ReadingWatch:
    """Calls `on_stall` once if less than 64 KiB were read in `seconds` while more was waiting.

    It measures what the other end has acknowledged where the system tells that, otherwise what the kernel has taken.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        seconds: float,
        on_stall: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._seconds = seconds
        self._on_stall = on_stall
        self._written = 0
        self._timer: asyncio.TimerHandle | None = None
        self._socket = transport.get_extra_info("socket")
        if self._socket is not None:
            with contextlib.suppress(OSError):  # not TCP, or not Linux
                self._socket.setsockopt(6, _TCP_NOTSENT_LOWAT, _UNSENT_BYTES)

    def wrote(self, size: int) -> None:
        """Count bytes that were passed to the transport, and begin to watch if some of them wait there."""
        self._written += size
        if self._timer is None and self._transport.get_write_buffer_size():
            self._begin()

    def stop(self) -> None:
        """Stop watching. The connection is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self) -> None:
        waiting = self._waiting()
        target = self._written - waiting + min(waiting, _MINIMUM_BYTES)
        self._timer = self._loop.call_later(self._seconds, self._check, target)

    def _check(self, target: int) -> None:
        self._timer = None
        if self._written - self._waiting() < target:
            self._on_stall()
        elif self._transport.get_write_buffer_size():
            self._begin()

    def _waiting(self) -> int:
        """Return the number of bytes that were written and not read."""
        queued = 0
        if self._socket is not None:
            with contextlib.suppress(OSError, ValueError):
                answer = fcntl.ioctl(self._socket.fileno(), termios.TIOCOUTQ, struct.pack("i", 0))
                queued = struct.unpack("i", answer)[0]
        return self._transport.get_write_buffer_size() + queued
