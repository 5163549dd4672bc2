"""Serving below a path: `https://host/hub/` by a proxy that strips `/hub` from requests, or passes it on.

The path is that of `server.public_url`, or the `X-Forwarded-Prefix` of a trusted proxy. `X-Forwarded-Host` of a trusted
proxy is the host of the request, which the host guard then checks. Headers of other callers count for nothing.
"""

import re
from collections.abc import Container
from typing import Any
from urllib.parse import urlsplit

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

from registry.http.request_state import request_state

_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~-]{1,100}){1,8}")
_HOST = re.compile(rb"[A-Za-z0-9.\[\]:_-]{1,255}")
_DOTS = {".", ".."}


class BasePath:
    """Wraps an ASGI application, which sees paths without the base path. `Location` headers get it back.

    Args:
        app: The application.
        public_url: The setting `server.public_url`, None if it is not set.
        trusted: The addresses of trusted proxies.
    """

    def __init__(self, app: ASGIApp, public_url: str | None, trusted: Container[str | None]) -> None:
        self._app = app
        self._public = _prefix_of(urlsplit(public_url).path) if public_url else ""
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with the paths and the host of the application."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        prefix = self._public
        client = scope["client"]
        if client is not None and client[0] in self._trusted:
            forwarded = _values(scope, b"x-forwarded-prefix")
            prefix = prefix or _prefix_of(forwarded[-1].decode("latin-1")) if forwarded else prefix
            _take_forwarded_host(scope)
        if not prefix:
            await self._app(scope, receive, send)
            return
        await serve_below(self._app, prefix, scope, receive, send)


async def serve_below(app: ASGIApp, prefix: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Pass a request on to an application that sees its path without `prefix`, which `Location` headers get back."""
    _strip(scope, prefix)
    request_state(scope).base_path += prefix
    await app(scope, receive, _relocating(send, prefix.encode()))


def _values(scope: Any, header: bytes) -> list[bytes]:
    """Return the values of a header, also those that one field lists, in order."""
    fields = [value for name, value in scope["headers"] if name == header]
    return [value.strip() for field in fields for value in field.split(b",")]


def _prefix_of(path: str) -> str:
    """Return a path without a slash at its end, empty if it is not a plain path of names."""
    prefix = path.rstrip("/")
    return prefix if _PREFIX.fullmatch(prefix) and not _DOTS & set(prefix.split("/")) else ""


def _take_forwarded_host(scope: Any) -> None:
    """Take the host that the client requested from the proxy. The proxy itself adds the last value."""
    hosts = _values(scope, b"x-forwarded-host")
    if hosts and _HOST.fullmatch(hosts[-1]):
        others = [(name, value) for name, value in scope["headers"] if name != b"host"]
        scope["headers"] = [(b"host", hosts[-1]), *others]


def _strip(scope: Any, prefix: str) -> None:
    """Remove the base path, which a proxy may have stripped already."""
    if scope["path"] == prefix or scope["path"].startswith(f"{prefix}/"):
        scope["path"] = scope["path"].removeprefix(prefix) or "/"
        scope["raw_path"] = scope["raw_path"].removeprefix(prefix.encode()) or b"/"


def _relocating(send: Send, prefix: bytes) -> Send:
    async def relocate(message: Message) -> None:
        if message["type"] == "http.response.start":
            _relocate(message, prefix)
        await send(message)

    return relocate


def _relocate(message: HTTPResponseStartEvent, prefix: bytes) -> None:
    message["headers"] = [
        (name, prefix + value if name.lower() == b"location" and _is_local(value) else value)
        for name, value in message["headers"]
    ]


def _is_local(location: bytes) -> bool:
    return location.startswith(b"/") and not location.startswith(b"//")
