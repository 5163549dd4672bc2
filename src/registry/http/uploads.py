"""Streams one file out of a multipart body. Nothing of the body is kept in memory."""

from collections.abc import AsyncIterator, Collection
from typing import Protocol

from multipart import MultipartError, MultipartSegment, PushMultipartParser

from registry.errors import FieldError, payload_too_large, validation_error
from registry.http.thread_pools import ORDINARY_POOL

_MAX_PARTS = 20


class Sink(Protocol):
    """Receives the bytes of the file."""

    size: int

    def write(self, chunk: bytes) -> None:
        """Take the next bytes."""
        ...


async def take_file(
    content_type: tuple[str, dict[str, str]],
    body: AsyncIterator[bytes],
    fields: Collection[str],
    sink: Sink,
    limit: int,
) -> None:
    """Write the only file among `fields` into `sink`, and ignore other parts.

    Raises VALIDATION_ERROR if the body is not multipart or does not have exactly one such part, PAYLOAD_TOO_LARGE.
    """
    kind, options = content_type
    boundary = options.get("boundary", "")
    if kind.lower() != "multipart/form-data" or not boundary.isascii() or not 1 <= len(boundary) <= 70:
        raise validation_error(
            FieldError("package", "is required: a multipart/form-data body with a file field 'package'")
        )
    part: MultipartSegment | None = None
    found = 0
    try:
        with PushMultipartParser(boundary, max_segment_count=_MAX_PARTS) as parser:
            async for chunk in body:
                for event in parser.parse(chunk) if chunk else ():
                    if isinstance(event, MultipartSegment):
                        part = event if event.name in fields else None
                        found += part is not None
                    elif event and part is not None:
                        if sink.size + len(event) > limit:
                            raise payload_too_large(limit)
                        await ORDINARY_POOL.run(sink.write, bytes(event))
    except MultipartError:
        raise validation_error(FieldError("package", "is not a valid multipart body")) from None
    if found != 1:
        raise validation_error(FieldError("package", "is required, once: a file field 'package'"))
