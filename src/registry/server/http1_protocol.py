"""uvicorn's HTTP/1.1 protocol with what it lacks: limits on every byte that comes, time-outs for head, body and
response, a bound on the requests that are parsed ahead, our error envelope.

The parser (llhttp, strict) detects violations of the grammar: two lengths, a length beside a transfer coding, bad
chunks. A request that is refused here never reaches the application, and its connection is closed.
"""

import asyncio
import logging
from typing import Any, NamedTuple, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from registry import errors
from registry.config.groups import LimitsSettings
from registry.errors import RegistryError
from registry.http.envelope import error_answer
from registry.http.request_id import new_request_id, request_id_of
from registry.http.request_log import log_request, request_fields
from registry.http.request_state import request_state
from registry.http.response_headers import identifying_headers
from registry.server.connections import Awaited, Connections
from registry.server.intake import Intake
from registry.server.lingering_transport import LingeringTransport
from registry.server.reading_watch import ReadingWatch
from registry.server.request_head import check_head, origin_form, without_upgrade

_log = logging.getLogger("registry.server")

_REQUESTS_AHEAD = 16
"""Requests of a connection that wait for the responses before theirs. Nothing is parsed beyond them."""

_BYTES_AHEAD = 32 << 10
"""Bytes that are parsed before the requests they belong to have begun."""

_REQUEST_LINE_BYTES = 256
"""Room for what is neither target nor header: the method, the version, line ends."""

_FRAMING_OF_BODY = 8
"""Bytes of chunk sizes and line ends that each byte of a body may cost. A chunk of one byte costs five."""

_LOGGED_URL_BYTES = 200


class _Phase(NamedTuple):
    """The part that is awaited: the head of a message or its body."""

    message: int
    part: Awaited


_IDLE = _Phase(0, "head")
"""Nothing of the next head has come. The time-out of idle connections, which is uvicorn's, runs."""


def accept(*args: Any, limits: LimitsSettings, connections: Connections, **kwargs: Any) -> Intake:
    """Return what the event loop calls for a new connection. The other arguments are those of uvicorn."""
    protocol = LimitedProtocol(*args, limits=limits, connections=connections, **kwargs)
    protocol.intake = Intake(protocol, connections.buffer, connections.turns, protocol.loop)
    return protocol.intake


class LimitedProtocol(HttpToolsProtocol):
    """One connection. A head's time starts with the connection or its first byte, a body's with its head.

    Every byte counts for a limit. A byte that is no part of a body counts as *framing* of its message, whatever the
    parser does with it: line ends before the head, the head, chunk sizes with their extensions, trailers.
    """

    intake: Intake

    def __init__(self, *args: Any, limits: LimitsSettings, connections: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.url = b""
        self._limits = limits
        self._connections = connections
        self._refusal: RegistryError | None = None
        self._refused = False
        self._messages = 0
        self._in_head = False
        self._in_body = False
        self._head_bytes = 0
        self._body_bytes = 0
        self._framing_bytes = 0
        self._unexplained_bytes = 0
        self._bytes_ahead = 0
        self._calls = 0
        self._phase: _Phase | None = None
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time-out of the first head, or refuse the connection if there are too many."""
        wrapped = cast(asyncio.Transport, transport)
        self._reading = ReadingWatch(wrapped, self.loop, self._limits.response_seconds, self._not_read)
        lingering = LingeringTransport(wrapped, self.loop, lambda: self._in_body, self._reading, self.intake.gate)
        super().connection_made(cast(asyncio.Transport, lingering))
        if self._connections.admit(self):
            self._watch()
        else:
            self._refuse(errors.service_unavailable("Too many connections are open"))
            wrapped.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time-out."""
        self._connections.closed(self)
        self._in_body = False
        self._stop_clock()
        self._reading.stop()
        super().connection_lost(exc)

    def make_room(self) -> None:
        """Close at once, because another connection has come."""
        self.transport.abort()

    def is_over(self) -> bool:
        """Return whether whatever still comes is discarded."""
        return self._refused or self.transport.is_closing()

    def is_amid_message(self) -> bool:
        """Return whether the rest of a message is awaited."""
        return self._in_head or self._in_body

    def wants_more(self) -> bool:
        """Return whether the next bytes may be parsed, or requests that came before must be answered first."""
        if not self.pipeline:
            self._bytes_ahead = 0
        return len(self.pipeline) < _REQUESTS_AHEAD and self._bytes_ahead < _BYTES_AHEAD

    def discard(self, count: int) -> None:
        """Count bytes that come after a refusal. The caller may send as much as the largest body."""
        self._body_bytes += count
        if self._body_bytes > self._limits.largest_body_bytes:
            self.transport.abort()

    def parse(self, piece: memoryview) -> int:
        """Parse a piece, and set the time-out of what is still missing."""
        self._calls = 0
        self._unset_keepalive_if_required()
        self._unexplained_bytes = len(piece)
        if self.pipeline:
            self._bytes_ahead += len(piece)
        self._feed(piece)
        if self._refused:
            return self._calls
        self._framing_bytes += self._unexplained_bytes
        if self._framing_bytes > self._most_framing():
            self._refuse(self._headers_too_large())
        else:
            self._watch()
        return self._calls

    def _feed(self, piece: memoryview) -> None:
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(piece[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(self._refusal or errors.bad_request("This is not a valid HTTP/1.1 request"))

    def _ignore_upgrade(self, rest: memoryview) -> None:
        """Read the head again as that of a plain request.

        Clients ask for HTTP/2 with a request that has a body, and go on without it. But the parser takes all that comes
        after such a head for the other protocol.
        """
        head = without_upgrade(self.parser.get_method(), self.url, self.parser.get_http_version(), self.headers)
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._feed(memoryview(head))
        if rest and not self._refused:
            self._feed(rest)

    def _most_framing(self) -> int:
        limits = self._limits
        most = limits.url_bytes + limits.header_bytes + _REQUEST_LINE_BYTES
        return most + limits.header_bytes + _FRAMING_OF_BODY * self._body_bytes if self._in_body else most

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._calls += 1
        self._messages += 1
        self._in_head, self._head_bytes, self._body_bytes = True, 0, 0

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
        version = self.parser.get_http_version()
        try:
            check_head(self.parser.get_method(), version, self.headers)
            self.url = origin_form(self.url, self.headers)
        except RegistryError as error:
            self._give_up(error)
        if self.parser.should_upgrade():
            return  # the same head comes again, without the upgrade
        if version == "1.0":
            self.expect_100_continue = False
        super().on_headers_complete()
        request_state(self.scope).is_gone = self.transport.is_closing
        self._in_head, self._in_body = False, True

    def on_body(self, body: bytes) -> None:
        """Pass a part of the body to the application."""
        self._calls += 1
        self._unexplained_bytes -= len(body)
        self._body_bytes += len(body)
        if self._body_bytes > self._limits.largest_body_bytes:
            self._give_up(errors.payload_too_large(self._limits.largest_body_bytes))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Record that the request is complete."""
        if self.parser.should_upgrade():
            return
        self._in_body = False
        self._framing_bytes = self._unexplained_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the requests that wait, when it is this connection's turn."""
        if self.pipeline:
            self.server_state.total_requests += 1
            self._connections.turns.take(self.loop, self._begin_next)
            return
        super().on_response_complete()
        if self.is_over():
            return
        if self._in_head or self._in_body:
            self._watch()
        else:
            self._phase = _IDLE
            self._connections.now_awaits(self, "head")
        self.intake.go_on()

    def _begin_next(self) -> None:
        if self.transport.is_closing():
            return
        self._start_asgi_task(*self.pipeline.pop())
        if not self.pipeline and not self._refused:
            self._watch()
            self.intake.go_on()

    def send_400_response(self, msg: str) -> None:
        """Never called: `parse` answers what the parser refuses."""
        raise NotImplementedError

    def _headers_too_large(self) -> RegistryError:
        return errors.headers_too_large(self._limits.header_bytes, self._limits.header_count)

    def _give_up(self, error: RegistryError) -> None:
        # An exception is the only way to stop the parser; `_feed` then answers.
        self._refusal = self._refusal or error
        raise error

    def _watch(self) -> None:
        """Keep the time-out of the awaited part. Bytes that trickle in do not extend it."""
        phase = self._awaited()
        if phase == self._phase:
            return
        self._stop_clock()
        self._phase = phase
        self._connections.now_awaits(self, phase.part if phase else None)
        if phase is not None:
            limits = self._limits
            seconds = limits.body_seconds if phase.part == "body" else limits.header_seconds
            self._clock = self.loop.call_later(seconds, self._timed_out)

    def _awaited(self) -> _Phase | None:
        if self.pipeline:
            return None  # what is awaited is not read before the requests that wait have begun
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
            log_request(request_fields(request_id, "-", path or "-", status, 0.0, len(body), self.client))
        # Whatever the caller still sends is read and discarded.
        self._in_body = True
        self.transport.close()
