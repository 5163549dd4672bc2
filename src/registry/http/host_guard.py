"""Trusted hosts and CORS: checks the `Host` and `Origin` of every request first.

The local profile has no authentication, but any web page that the user opens can send requests to a port of the
user's machine: directly (a cross-site POST), or through a host name that resolves to 127.0.0.1 (DNS rebinding). So
requests for another host are refused, and so are state-changing requests from another origin.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from registry.auth.locality import is_forwarded
from registry.domain.hosts import bare, host_of
from registry.errors import RegistryError, forbidden
from registry.http.envelope import HttpResponse, error_answer, send_answer

PROBES = frozenset({"/healthz", "/readyz"})

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_ORIGIN = re.compile(r"https?://(.+)")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The usual names of this machine. Recognising any other loopback address takes longer."""
_ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - names the wildcard, binds nothing
_ALLOWED_HEADERS = b"authorization, content-type, if-match, if-none-match, x-api-key, x-request-id"
_EXPOSED_HEADERS = b"etag, link, location, retry-after, x-api-version, x-ignored-query, x-request-id"


class _Caller(NamedTuple):
    """What the headers say about the origin of a request. Lists, because a header may be sent twice."""

    hosts: list[str]
    origins: list[str]
    sites: list[str]


def enveloped(_: str, refusal: RegistryError) -> HttpResponse:
    """Return the response to a refused request in the envelope, whatever its path is."""
    return error_answer(refusal)


class HostGuard:
    """Wraps an ASGI application; refusals are FORBIDDEN.

    Args:
        app: The application to protect.
        bind: The address or name the service listens on. On a wildcard address, numeric addresses are
            allowed hosts, because a page cannot make them resolve elsewhere.
        allowed_hosts: Names and addresses, without port, that are allowed besides the loopback ones.
        allowed_origins: Origins whose pages may send any request. `*` lets pages of any origin read.
        any_host: Whether any name is allowed, because every request needs a credential.
        answer: Returns the response that refuses a request to a path.
        on_proxied: Called for each request that a proxy has forwarded.
    """

    def __init__(
        self,
        app: ASGIApp,
        bind: str,
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
        *,
        any_host: bool = False,
        answer: Callable[[str, RegistryError], HttpResponse] = enveloped,
        on_proxied: Callable[[str], None] | None = None,
    ) -> None:
        self._app = app
        self._any_host = any_host
        self._answer = answer
        self._on_proxied = on_proxied
        self._any_address = bind in _ANY_ADDRESS
        self._hosts = {bare(host) for host in (*allowed_hosts, bind, *_LOOPBACK)} - _ANY_ADDRESS
        self._origins = frozenset(origin.lower() for origin in allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, or refuse it."""
        if scope["type"] != ScopeType.HTTP or scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        if self._on_proxied is not None and is_forwarded(scope["headers"]):
            self._on_proxied("a proxy has forwarded the request")
        caller = _caller(scope["headers"])
        if (refusal := self._refusal(scope["method"], caller)) is not None:
            await send_answer(send, self._answer(scope["path"], refusal))
        elif not self._origins:
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and self._answers(caller) and _is_preflight(scope["headers"]):
            await self._answer_preflight(send, caller)
        else:
            await self._app(scope, receive, self._with_cors(send, caller))

    def _refusal(self, method: str, caller: _Caller) -> RegistryError | None:
        if not self._is_our_host(caller.hosts):
            return forbidden("The request names a host this service does not answer for; --allowed-host adds one")
        if method not in _SAFE_METHODS and not self._is_our_page(caller):
            return forbidden("Pages of other origins may not change anything here")
        return None

    def _is_our_host(self, hosts: list[str]) -> bool:
        host = host_of(hosts[0]) if len(hosts) == 1 else None
        if host is None:
            return False
        if host in self._hosts or self._any_host:
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return self._any_address or address.is_loopback

    def _is_our_page(self, caller: _Caller) -> bool:
        """Return whether a program or one of our pages sends this. Programs send neither header."""
        if len(caller.origins) > 1:
            return False
        if caller.origins and caller.origins[0] in self._origins:
            return True
        if "cross-site" in caller.sites:
            return False
        same = _ORIGIN.fullmatch(caller.origins[0]) if caller.origins else None
        return not caller.origins or (same is not None and [same[1]] == caller.hosts)

    def _answers(self, caller: _Caller) -> bytes | None:
        """Return the `Access-Control-Allow-Origin` for this caller, if there is one."""
        if len(caller.origins) == 1 and caller.origins[0] in self._origins:
            return caller.origins[0].encode("latin-1")
        return b"*" if "*" in self._origins else None

    async def _answer_preflight(self, send: Send, caller: _Caller) -> None:
        methods = b"GET, HEAD, POST, PUT, DELETE" if self._is_our_page(caller) else b"GET, HEAD"
        headers = [
            (b"access-control-allow-methods", methods),
            (b"access-control-allow-headers", _ALLOWED_HEADERS),
            (b"access-control-max-age", b"600"),
        ]
        send = self._with_cors(send, caller)
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _with_cors(self, send: Send, caller: _Caller) -> Send:
        headers = [(b"vary", b"Origin")]
        if allowed := self._answers(caller):
            headers.append((b"access-control-allow-origin", allowed))
            headers.append((b"access-control-expose-headers", _EXPOSED_HEADERS))

        async def send_with_cors(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        return send_with_cors


def _caller(headers: Iterable[tuple[bytes, bytes]]) -> _Caller:
    caller = _Caller([], [], [])
    for name, value in headers:
        if name == b"host":
            caller.hosts.append(value.decode("latin-1").lower())
        elif name == b"origin":
            caller.origins.append(value.decode("latin-1").lower())
        elif name == b"sec-fetch-site":
            caller.sites.append(value.decode("latin-1"))
    return caller


def _is_preflight(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == b"access-control-request-method" for name, _ in headers)
