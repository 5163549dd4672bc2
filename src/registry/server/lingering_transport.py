"""The transport of a connection as the protocol sees it: how it sends a head, pauses reading, and closes."""

import asyncio
from collections.abc import Callable
from typing import Any

from registry.server.reading_watch import ReadingWatch

_LINGER_SECONDS = 2.0
"""How long the connection stays open after a refusal while the caller still sends, so that it can read the response."""

_STATUS_LINE = b"HTTP/1.1 "


class ReadingGate:
    """Reads from a connection unless one of several reasons asks for a pause."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._reasons: set[str] = set()

    def pause(self, reason: str) -> None:
        """Stop reading until `resume` is called with the same reason."""
        if not self._reasons:
            self._transport.pause_reading()
        self._reasons.add(reason)

    def resume(self, reason: str) -> None:
        """Read again if no other reason is left."""
        if reason in self._reasons:
            self._reasons.remove(reason)
            if not self._reasons:
                self._transport.resume_reading()

    def resume_all(self) -> None:
        """Read again, whatever the reasons were."""
        if self._reasons:
            self._reasons.clear()
            self._transport.resume_reading()


class LingeringTransport:
    """A transport that sends a head together with the body, and whose `close` lets the caller finish reading.

    uvicorn writes head and body separately: two system calls, and a caller that wakes twice. So a head waits for a body
    that follows in the same step of the event loop, and not longer.

    Closing a socket with unread bytes resets it, and the reset can overtake the response. So during a body only the
    sending half is closed. The other half closes with the caller, or after a time-out.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        is_unread: Callable[[], bool],
        watch: ReadingWatch,
        gate: ReadingGate,
    ) -> None:
        self._watch = watch
        self._gate = gate
        self._transport = transport
        self._loop = loop
        self._is_unread = is_unread
        self._closing = False
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def pause_reading(self) -> None:
        """Stop reading until the application has taken what has come."""
        self._gate.pause("application")

    def resume_reading(self) -> None:
        """Read again, unless there is another reason to pause."""
        self._gate.resume("application")

    def write(self, data: bytes) -> None:
        """Send data; a head waits for its body until the end of this step of the event loop.

        What is written to a closed connection is dropped: the responses to requests that came before it closed.
        """
        if self._transport.is_closing():
            self._head = b""
        elif self._head:
            head, self._head = self._head, b""
            self._transport.writelines((head, data))
            self._watch.wrote(len(head) + len(data))
        elif data.startswith(_STATUS_LINE):
            self._head = data
            self._loop.call_soon(self._send_head)
        else:
            self._transport.write(data)
            self._watch.wrote(len(data))

    def _send_head(self) -> None:
        if self._head and not self._transport.is_closing():
            head, self._head = self._head, b""
            self._transport.write(head)
            self._watch.wrote(len(head))

    def is_closing(self) -> bool:
        """Return whether nothing can be sent any more."""
        return self._closing or self._transport.is_closing()

    def close(self) -> None:
        """Send what is left and close the connection, or only its sending half while a body comes."""
        self._send_head()
        if self.is_closing():
            return
        if not self._is_unread():
            self._transport.close()
            return
        self._closing = True
        self._transport.write_eof()
        self._gate.resume_all()
        self._loop.call_later(_LINGER_SECONDS, self._transport.abort)
