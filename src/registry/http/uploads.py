"""Streams files out of multipart bodies. Nothing of a body is kept in memory."""

from collections.abc import AsyncGenerator, AsyncIterator, Collection
from contextlib import aclosing
from typing import BinaryIO, Protocol

from multipart import MultipartError, MultipartSegment, PushMultipartParser

from registry.errors import FieldError, payload_too_large, validation_error
from registry.http.thread_pools import ORDINARY_POOL
from registry.packages.packing import FilePart

_MAX_PARTS = 20

ContentType = tuple[str, dict[str, str]]


class Sink(Protocol):
    """Receives the bytes of the file."""

    size: int

    def write(self, chunk: bytes) -> None:
        """Take the next bytes."""
        ...


class TextField:
    """A text field of a form, read with its files: its name, and its bytes so far."""

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.data = bytearray()
        self._limit = limit

    def write(self, chunk: bytes) -> None:
        """Take the next bytes. Raises PAYLOAD_TOO_LARGE."""
        if len(self.data) + len(chunk) > self._limit:
            raise payload_too_large(self._limit)
        self.data += chunk


async def take_file(
    content_type: ContentType, body: AsyncIterator[bytes], fields: Collection[str], sink: Sink, limit: int
) -> None:
    """Write the only file among `fields` into `sink`, and ignore other parts.

    Raises VALIDATION_ERROR if the body is not multipart or does not have exactly one such part, PAYLOAD_TOO_LARGE.
    """
    taken: set[int] = set()
    async with aclosing(_parts(content_type, body, "package", _MAX_PARTS)) as parts:
        async for number, part, chunk in parts:
            if part.name in fields:
                taken.add(number)
                if sink.size + len(chunk) > limit:
                    raise payload_too_large(limit)
                await ORDINARY_POOL.run(sink.write, chunk)
    if len(taken) != 1:
        raise validation_error(FieldError("package", "is required, once: a file field 'package'"))


async def take_files(
    content_type: ContentType,
    body: AsyncIterator[bytes],
    field: str,
    file: BinaryIO,
    limits: tuple[int, int],
    text: TextField | None = None,
) -> list[FilePart]:
    """Write every file of `field` into `file`, one after the other, and ignore other parts but `text`.

    `limits` are the number of parts and the bytes of all files. Raises VALIDATION_ERROR if the body is not multipart or
    a file has no name, PAYLOAD_TOO_LARGE.
    """
    files: dict[int, FilePart] = {}
    end, (most_parts, most_bytes) = 0, limits
    async with aclosing(_parts(content_type, body, field, most_parts)) as received:
        async for number, part, chunk in received:
            if text is not None and part.name == text.name:
                text.write(chunk)
            if part.name not in (field, f"{field}[]"):
                continue
            if not part.filename:
                raise validation_error(FieldError(field, "each must be a file with a name"))
            before = files.get(number, FilePart(part.filename, end, 0))
            files[number] = before._replace(size=before.size + len(chunk))
            end += len(chunk)
            if end > most_bytes:
                raise payload_too_large(most_bytes)
            await ORDINARY_POOL.run(file.write, chunk)
    return list(files.values())


async def _parts(
    content_type: ContentType, body: AsyncIterator[bytes], field: str, most: int
) -> AsyncGenerator[tuple[int, MultipartSegment, bytes], None]:
    """Yield the number, the head and the next bytes of each part; no bytes when a part begins.

    Raises VALIDATION_ERROR, which names `field`, if the body is not multipart or has more than `most` parts.
    """
    kind, options = content_type
    boundary = options.get("boundary", "")
    if kind.lower() != "multipart/form-data" or not boundary.isascii() or not 1 <= len(boundary) <= 70:
        raise validation_error(
            FieldError(field, f"is required: a multipart/form-data body with a file field '{field}'")
        )
    part: MultipartSegment | None = None
    number = 0
    try:
        with PushMultipartParser(boundary, max_segment_count=most) as parser:
            async for chunk in body:
                for event in parser.parse(chunk) if chunk else ():
                    if isinstance(event, MultipartSegment):
                        part, number = event, number + 1
                        yield number, part, b""
                    elif event and part is not None:
                        yield number, part, bytes(event)
    except MultipartError:
        raise validation_error(FieldError(field, "is not a valid multipart body")) from None
