"""Compresses responses, at a cost that no text can raise, and large ones in threads.

At the highest level of zlib, a megabyte of two letters in random order takes ten seconds. At level 4 no text was found
of which a megabyte takes more than a twentieth of a second, and ordinary text gets a tenth larger.
"""

import gzip
from typing import Any

from litestar.datastructures import MutableScopeHeaders
from litestar.middleware.compression.middleware import CompressionMiddleware
from litestar.types import HTTPResponseBodyEvent, HTTPResponseStartEvent, Message, Scope, Send

from registry.http.thread_pools import ThreadPool
from registry.runtime.processors import usable_processors

COMPRESSED_FROM_BYTES = 1024
"""Responses of at least this size are compressed if the caller accepts gzip."""

LARGE_BYTES = 64 * 1024
"""Larger responses are compressed in threads, so that no other request waits for them."""

LEVEL = 4

_POOL = ThreadPool("large responses", threads=usable_processors(), queue=10_000)


def compress(body: bytes) -> bytes:
    """Return the body of a response, compressed with gzip."""
    return gzip.compress(body, LEVEL, mtime=0)


async def compress_large(body: bytes) -> bytes:
    """Return the same as `compress`, made in a thread. Raises SERVICE_UNAVAILABLE."""
    return await _POOL.run(compress, body)


class Compression(CompressionMiddleware):
    """The framework's compression, which runs in the event loop, except of large responses that are sent at once."""

    def create_compression_send_wrapper(self, send: Send, compression_encoding: str, scope: Scope) -> Send:
        """Return a `send` that compresses what a handler sends."""
        in_parts = super().create_compression_send_wrapper(send, compression_encoding, scope)
        start: HTTPResponseStartEvent | None = None

        async def compressed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
            elif message["type"] == "http.response.body" and start is not None:
                head, start = start, None  # what follows a first part is a stream
                if len(message["body"]) > LARGE_BYTES and not message.get("more_body"):
                    await _send_large(send, head, message)
                    return
            await in_parts(message)

        return compressed


async def _send_large(send: Send, start: HTTPResponseStartEvent, message: HTTPResponseBodyEvent) -> None:
    body = await compress_large(message["body"])
    headers: Any = MutableScopeHeaders(start)
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(body))
    headers.extend_header_value("vary", "Accept-Encoding")
    await send(start)
    await send({**message, "body": body})
