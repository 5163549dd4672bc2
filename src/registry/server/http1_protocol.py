"""uvicorn's HTTP/1.1 protocol with what it lacks: limits on the head, time-outs for head, body and response,
our error envelope.

The parser (llhttp, strict) detects violations of the grammar: two lengths, a length beside a transfer coding, bad
chunks. A request that is refused here never reaches the application, and its connection is closed.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from registry import errors
from registry.config.groups import LimitsSettings
from registry.errors import RegistryError
from registry.http.envelope import error_answer
from registry.http.request_id import new_request_id, request_id_of
from registry.http.request_log import log_request
from registry.http.request_state import request_state
from registry.http.response_headers import identifying_headers
from registry.server.reading_watch import ReadingWatch

_log = logging.getLogger("registry.server")

_LINGER_SECONDS = 2.0
"""How long the connection stays open after a refusal while the caller still sends, so that it can read the response."""

_LOGGED_URL_BYTES = 200
_STATUS_LINE = b"HTTP/1.1 "


class _Phase(NamedTuple):
    """The part that is awaited: the head of a message or its body."""

    message: int
    part: str


class LimitedProtocol(HttpToolsProtocol):
    """One connection. A head's time starts with the connection or its first byte, a body's with its head."""

    def __init__(self, *args: Any, limits: LimitsSettings, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._refusal: RegistryError | None = None
        self._refused = False
        self._messages = 0
        self._in_head = False
        self._in_body = False
        self._head_bytes = 0
        self._unparsed_bytes = 0
        self._phase: _Phase | None = None
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time-out of the first head."""
        wrapped = cast(asyncio.Transport, transport)
        self._reading = ReadingWatch(wrapped, self.loop, self._limits.response_seconds, self._not_read)
        counted = _Transport(wrapped, self.loop, lambda: self._in_body, self._reading)
        super().connection_made(cast(asyncio.Transport, counted))
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time-out."""
        self._in_body = False
        self._stop_clock()
        self._reading.stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse the data, and set the time-out of what is still missing."""
        if self._refused or self.transport.is_closing():
            return
        message, unfinished = self._messages, self._in_head
        super().data_received(data)
        if unfinished and self._in_head and message == self._messages:
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > self._limits.header_bytes + self._limits.url_bytes:
                self._refuse(self._headers_too_large())
        if not self._refused:
            self._watch()

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._messages += 1
        self._in_head, self._head_bytes, self._unparsed_bytes = True, 0, 0

    def on_url(self, url: bytes) -> None:
        """Collect a part of the request target."""
        super().on_url(url)
        if len(self.url) > self._limits.url_bytes:
            self._give_up(errors.uri_too_long(self._limits.url_bytes))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collect a header. Trailer fields are dropped."""
        if not self._in_head:
            return
        super().on_header(name, value)
        self._head_bytes += len(name) + len(value) + len(": \r\n")
        if self._head_bytes > self._limits.header_bytes or len(self.headers) > self._limits.header_count:
            self._give_up(self._headers_too_large())

    def on_headers_complete(self) -> None:
        """Pass the request to the application."""
        super().on_headers_complete()
        request_state(self.scope).is_gone = self.transport.is_closing
        self._in_head, self._in_body = False, True

    def on_message_complete(self) -> None:
        """Record that the request is complete."""
        self._in_body = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that the parser or a limit has refused."""
        self._refuse(self._refusal or errors.bad_request("This is not a valid HTTP/1.1 request"))

    def _headers_too_large(self) -> RegistryError:
        return errors.headers_too_large(self._limits.header_bytes, self._limits.header_count)

    def _give_up(self, error: RegistryError) -> None:
        # An exception is the only way to stop the parser; uvicorn then calls send_400_response.
        self._refusal = self._refusal or error
        raise error

    def _watch(self) -> None:
        """Keep the time-out of the awaited part. Bytes that trickle in do not extend it."""
        phase = self._awaited()
        if phase == self._phase:
            return
        self._stop_clock()
        self._phase = phase
        if phase is not None:
            limits = self._limits
            seconds = limits.body_seconds if phase.part == "body" else limits.header_seconds
            self._clock = self.loop.call_later(seconds, self._timed_out)

    def _awaited(self) -> _Phase | None:
        if self._in_body:
            return _Phase(self._messages, "body")
        if self._in_head:
            return _Phase(self._messages, "head")
        is_idle = self.cycle is None or self.cycle.response_complete
        return _Phase(self._messages + 1, "head") if is_idle else None

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        self._phase = None

    def _timed_out(self) -> None:
        if self._in_head or self._in_body:
            part = "body" if self._in_body else "head"
            self._refuse(errors.request_timeout(f"The {part} of the request did not arrive in time"))
        else:
            self.transport.close()

    def _not_read(self) -> None:
        _log.warning("a connection of %s is closed: its response is not read", self.client[0] if self.client else "-")
        self.transport.abort()

    def _refuse(self, error: RegistryError) -> None:
        """Send `error` and close the connection, unless a response has begun."""
        self._refused = True
        self._stop_clock()
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete and not self._in_body:
            cycle.keep_alive = False
            return
        if self._in_body and (self.pipeline or cycle.response_started):
            self.transport.close()
            return
        if self._in_body:
            cycle.disconnected = True
            cycle.message_event.set()
        self._write_refusal(error)

    def _write_refusal(self, error: RegistryError) -> None:
        request_id = request_id_of(self.scope) if self._in_body else new_request_id()
        status, headers, body = error_answer(error)
        path = self.url.partition(b"?")[0][:_LOGGED_URL_BYTES].decode("ascii", "backslashreplace")
        lines = [*self.server_state.default_headers, *identifying_headers(path, request_id)]
        lines.extend((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items())
        head = b"".join(b"%s: %s\r\n" % line for line in lines)
        self.transport.write(b"%s%s\r\n%s" % (STATUS_LINE[status], head, body))
        if not self._in_body:
            log_request(request_id, "-", path or "-", status, 0.0, len(body), self.client)
        # Whatever the caller still sends is read and discarded.
        self._in_body = True
        self.transport.close()


class _Transport:
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
        reading: ReadingWatch,
    ) -> None:
        self._reading = reading
        self._transport = transport
        self._loop = loop
        self._is_unread = is_unread
        self._closing = False
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.writelines((head, data))
            self._reading.wrote(len(head) + len(data))
        elif data.startswith(_STATUS_LINE):
            self._head = data
            self._loop.call_soon(self._send_head)
        else:
            self._transport.write(data)
            self._reading.wrote(len(data))

    def _send_head(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)
            self._reading.wrote(len(head))

    def is_closing(self) -> bool:
        return self._closing or self._transport.is_closing()

    def close(self) -> None:
        self._send_head()
        if self.is_closing():
            return
        if not self._is_unread():
            self._transport.close()
            return
        self._closing = True
        self._transport.write_eof()
        self._transport.resume_reading()
        self._loop.call_later(_LINGER_SECONDS, self._transport.abort)
