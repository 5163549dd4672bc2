"""Asks an ASGI application as the server does: with the whole body in one message."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from support.raw_http import RawAnswer


async def ask(
    app: Any,
    method: str,
    path: str,
    body: bytes = b"",
    content_type: str = "application/json",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> RawAnswer:
    """Send a request to an application and return its response. Only requests with a body have a content type."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    bare, _, query = path.partition("?")
    kind = [(b"content-type", content_type.encode())] if body else []
    others = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope: Any = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
        "method": method,
        "path": bare,
        "raw_path": bare.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"content-length", str(len(body)).encode()), *kind, *others],
        "state": {},
    }
    await app(scope, receive, send)
    answered = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return RawAnswer(sent[0]["status"], answered, b"".join(message.get("body", b"") for message in sent[1:]))
