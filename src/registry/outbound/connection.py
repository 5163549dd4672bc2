"""Connections of the outgoing client: only to checked addresses, and only until a deadline."""

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

from registry.domain.addresses import AddressPolicy
from registry.outbound.interruption import Interruption, current_interruption

_CONNECT_SECONDS = 5.0


class Deadline:
    """The moment by which a request must be complete."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left. Raises httpcore.ReadTimeout after the deadline."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout
        return left


class CheckedBackend(httpcore.NetworkBackend):
    """Resolves a name once, checks all its addresses and connects to one of them, so DNS rebinding has no effect."""

    def __init__(self, policy: AddressPolicy, deadline: Deadline, interruption: Interruption | None = None) -> None:
        self._policy = policy
        self._deadline = deadline
        self._interruption = interruption or current_interruption() or Interruption()
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
        stream = self._plain.connect_tcp(address, port, seconds, None, options)
        return _TimedStream(stream, self._deadline, self._interruption)


class _TimedStream(httpcore.NetworkStream):
    """A stream whose reads and writes end at the deadline, even if bytes arrive one by one, or at an interruption."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline, interruption: Interruption) -> None:
        self._inner = inner
        self._deadline = deadline
        self._interruption = interruption
        interruption.watch(inner)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        # The certificate must match the name, not the address.
        encrypted = self._inner.start_tls(ssl_context, server_hostname, self._deadline.left())
        return _TimedStream(encrypted, self._deadline, self._interruption)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
