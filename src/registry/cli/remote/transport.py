"""The limits of an exchange with a server: the time for an answer, its size, and only requested compression.

A server is no more trusted than a package. Loopback and private addresses are allowed, because the user names them.
"""

import ssl
import time
import zlib
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from registry.domain.addresses import parse_url
from registry.outbound.proxies import Proxies

ANSWER_BYTES = 64 << 20
"""The default limit for the size of an answer: a SKILL.md of `limits.upload_bytes`, with every character escaped."""

_CONNECT_SECONDS = 10.0
_LEAST_RATE = 1 << 10
"""The bytes per second at which a request must be taken, or else sending it is given up."""

_BLOCK = 1 << 16
_UNSENT = (httpcore.ConnectError, httpcore.UnsupportedProtocol, httpcore.ProxyError)
_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError)

_HTTP_PROXIES = frozenset({"http", "https"})


class AnswerRefused(httpx.TransportError):
    """An answer is larger than the limit, or compressed without a request for it. The message says which."""


class LimitedTransport(httpx.BaseTransport):
    """Sends requests to one origin and reads whole answers, within limits.

    The time for the answer is the read timeout of the request. It begins when the request is sent, and also ends
    answers that come byte by byte.

    Args:
        url: The address of the server.
        certificates: The trust settings for TLS.
        limit: The maximum size of an answer, in bytes, and of what it decompresses to.
        proxies: The proxies; by default those in the environment.

    Raises ImportError, ValueError, OutboundError for a proxy that cannot be used.
    """

    def __init__(
        self,
        url: httpx.URL,
        certificates: ssl.SSLContext,
        limit: int = ANSWER_BYTES,
        proxies: Proxies | None = None,
    ) -> None:
        self._limit = limit
        self._clock = _Clock()
        backend = _TimedBackend(self._clock)
        self._pool = _pool(_proxy_of(url, proxies), {"ssl_context": certificates, "network_backend": backend})

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return a whole answer. Raises httpx.TransportError: httpx.ConnectError if nothing was sent."""
        self._clock.start(request.extensions["timeout"]["read"], int(request.headers.get("Content-Length", 0)))
        try:
            return self._exchanged(request)
        except (httpcore.TimeoutException, TimeoutError):
            raise httpx.ReadTimeout("no whole answer in time") from None
        except _UNSENT as error:
            raise httpx.ConnectError(str(error) or type(error).__name__) from None
        except _BROKEN as error:
            raise httpx.NetworkError(str(error) or type(error).__name__) from None

    def _exchanged(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.SyncByteStream)
        url = request.url
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        sent = httpcore.Request(
            request.method, target, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        received = self._pool.handle_request(sent)
        try:
            body = self._whole(received)
        finally:
            received.close()
        headers = httpx.Headers(received.headers)
        self._check_compression(request, headers, body)
        stream = httpx.ByteStream(body)
        return httpx.Response(received.status, headers=headers, stream=stream, extensions=received.extensions)

    def _whole(self, received: httpcore.Response) -> bytes:
        body = bytearray()  # a list of the chunks would take eight bytes for each byte that comes alone
        for chunk in received.iter_stream():
            body += chunk
            if len(body) > self._limit:
                raise self._too_large()
        return bytes(body)

    def _check_compression(self, request: httpx.Request, headers: httpx.Headers, body: bytes) -> None:
        """Refuse a body that was compressed without a request, or that decompresses to more than the limit."""
        coding = headers.get("Content-Encoding", "identity").strip().lower()
        if coding in ("identity", "") or not body:
            return
        if coding != "gzip" or "gzip" not in request.headers.get("Accept-Encoding", ""):
            raise AnswerRefused("it answers with compressed text, although the request allows none")
        decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
        size = 0
        try:
            while body and not decoder.eof:
                size += len(decoder.decompress(body, _BLOCK))
                body = decoder.unconsumed_tail
                if size > self._limit:
                    raise self._too_large()
        except zlib.error:
            raise AnswerRefused("it answers with broken gzip") from None

    def _too_large(self) -> AnswerRefused:
        return AnswerRefused(f"it answers with more than {self._limit:,} bytes")

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


class _Clock:
    """The time that is left to send a request, and then to receive its answer."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._sent_by = 0.0
        self._answered_by: float | None = None

    def start(self, seconds: float, size: int) -> None:
        """Begin with a request of a size in bytes, whose answer may take `seconds`."""
        self._seconds = seconds
        self._sent_by = time.monotonic() + seconds + size / _LEAST_RATE
        self._answered_by = None

    def left_to_send(self) -> float:
        """Return the seconds left. Raises httpcore.WriteTimeout."""
        self._answered_by = None  # there is more to send, so the answer cannot be expected yet
        if (left := self._sent_by - time.monotonic()) <= 0:
            raise httpcore.WriteTimeout
        return left

    def left_to_receive(self) -> float:
        """Return the seconds left. They run from the first call after sending. Raises httpcore.ReadTimeout."""
        now = time.monotonic()
        if self._answered_by is None:
            self._answered_by = now + self._seconds
        if (left := self._answered_by - now) <= 0:
            raise httpcore.ReadTimeout
        return left


class _TimedBackend(httpcore.NetworkBackend):
    """Opens connections whose reads and writes end when the clock says so."""

    def __init__(self, clock: _Clock) -> None:
        self._clock = clock
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to a server or a proxy."""
        seconds = min(_CONNECT_SECONDS, self._clock.left_to_send())
        return _TimedStream(self._plain.connect_tcp(host, port, seconds, local_address, socket_options), self._clock)


class _TimedStream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, clock: _Clock) -> None:
        self._inner = inner
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._clock.left_to_receive())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _BLOCK):  # the inner stream grants the timeout to each system call
            self._inner.write(buffer[start : start + _BLOCK], self._clock.left_to_send())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = min(_CONNECT_SECONDS, self._clock.left_to_send())
        return _TimedStream(self._inner.start_tls(ssl_context, server_hostname, seconds), self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _proxy_of(url: httpx.URL, proxies: Proxies | None) -> httpx.Proxy | None:
    """Return the proxy for a URL, by default the one that the environment names. Raises ValueError, OutboundError."""
    if proxies is not None:
        chosen = proxies.of(parse_url(str(url)))
        return httpx.Proxy(chosen.full_url) if chosen else None
    environment = getproxies()
    named = environment.get(url.scheme) or environment.get("all")
    if not named or proxy_bypass(url.host):
        return None
    return httpx.Proxy(named if "://" in named else f"http://{named}")


def _pool(proxy: httpx.Proxy | None, options: Mapping[str, Any]) -> httpcore.ConnectionPool:
    if proxy is None:
        return httpcore.ConnectionPool(**options)
    url = httpcore.URL(
        scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target=proxy.url.raw_path
    )
    if proxy.url.scheme in _HTTP_PROXIES:
        return httpcore.HTTPProxy(url, proxy_auth=proxy.raw_auth, **options)
    return httpcore.SOCKSProxy(url, proxy_auth=proxy.raw_auth, **options)
