"""Ends outgoing requests and git from another thread, because a caller cancels what they are for."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import httpcore


class Interruption:
    """Lets another thread end a request at once: it shuts down the connection. It stays set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.is_set = False

    def set(self) -> None:
        """End the request that waits now, and every later one."""
        with self._lock:
            self.is_set = True
            self._shut_down()

    def watch(self, stream: httpcore.NetworkStream) -> None:
        """Make `set` end the connection of a stream. TLS replaces the socket, so watch its stream too."""
        with self._lock:
            self._socket = stream.get_extra_info("socket")
            if self.is_set:
                self._shut_down()

    def _shut_down(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it is closed already
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # that of TLS would first change its state


_CURRENT: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


@contextmanager
def interruptible(interruption: Interruption) -> Iterator[None]:
    """Let `interruption` end the requests and the git commands of the block, in this thread."""
    token = _CURRENT.set(interruption)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def current_interruption() -> Interruption | None:
    """Return the interruption of the block that this thread is in, if any."""
    return _CURRENT.get()
