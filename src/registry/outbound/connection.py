"""Connections of the outgoing client: to a checked address and no other, and over at a set moment."""

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

from registry.domain.addresses import AddressPolicy

_CONNECT_SECONDS = 5.0


class Deadline:
    """A moment after which nothing is waited for any more."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left. Raises httpcore.ReadTimeout when there are none."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return left


class CheckedBackend(httpcore.NetworkBackend):
    """Resolves a name once, checks every address of it and connects to these: there is no second look-up to fool."""

    def __init__(self, policy: AddressPolicy, deadline: Deadline) -> None:
        self._policy = policy
        self._deadline = deadline
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers. Raises OutboundError, httpcore.ConnectError."""
        addresses = self._policy.addresses(host, port)
        for address in addresses[:-1]:
            try:
                return self._connect(address, port, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connect(addresses[-1], port, socket_options)

    def _connect(
        self, address: str, port: int, options: Iterable[httpcore.SOCKET_OPTION] | None
    ) -> httpcore.NetworkStream:
        seconds = min(_CONNECT_SECONDS, self._deadline.left())
        return _TimedStream(self._plain.connect_tcp(address, port, seconds, None, options), self._deadline)


class _TimedStream(httpcore.NetworkStream):
    """A stream on which every wait ends at the deadline, however small the pieces in which bytes come."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        # The name, not the address, is what the certificate must be of.
        return _TimedStream(self._inner.start_tls(ssl_context, server_hostname, self._deadline.left()), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
