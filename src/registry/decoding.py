"""Strict JSON bodies, in one place: what a handler gets as `data` has met every rule of its type.

RFC 8259 leaves duplicate keys, lone surrogates and huge numbers to the reader, and readers differ; I-JSON (RFC 7493), which
forbids them, is followed here.
"""

import json
import math
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Any, NoReturn, TypeVar

import msgspec
from litestar import Request
from litestar.params import BodyKwarg

from registry.errors import ClientGoneError, Fault, payload_too_large, unsupported_media_type, validation_error
from registry.faults import WHOLE, find_faults

_T = TypeVar("_T")

MAX_DEPTH = 32
MAX_INTEGER = 2**53

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NAME_LENGTH = 100
_TOO_LARGE = MAX_INTEGER + 1


class StrictRequest(Request[Any, Any, Any]):
    """The application's request class: `Litestar(request_class=StrictRequest)`.

    A handler that takes `data` gets an instance of its annotation, decoded by `decode`. A body needs the content type
    `application/json`; none at all counts as `{}` where that is enough.
    """

    __slots__ = ()

    async def json(self) -> Any:
        """Return the body as the type the handler's `data` has.

        Raises:
            RegistryError: PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, VALIDATION_ERROR.
        """
        field = self.route_handler.parsed_data_field
        if field is None:
            return await super().json()
        return decode(await self.body(), field.annotation)

    async def body(self) -> bytes:
        """Return the body; for a handler of JSON, only if it is said to be JSON."""
        body = await super().body()
        field = self.route_handler.parsed_data_field
        if field is None or isinstance(field.kwarg_definition, BodyKwarg):
            return body
        if not body:
            # Litestar would leave `data` out of the call.
            return b"{}" if self._may_be_empty(field.annotation) else b" "
        self._require_json()
        return body

    def _may_be_empty(self, kind: Any) -> bool:
        return not any(True for _ in find_faults({}, kind))

    def _require_json(self) -> None:
        content_type, options = self.content_type
        if content_type.lower() != "application/json" or options.get("charset", "utf-8").lower() != "utf-8":
            raise unsupported_media_type()

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the body's chunks, and an empty one at the end, within the handler's `request_max_body_size`.

        Raises:
            RegistryError: PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE for a compressed body.
            ClientGoneError: The caller hung up.
        """
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise unsupported_media_type("Compressed bodies are not read")
        limit = self.route_handler.resolve_request_max_body_size() or math.inf
        if (self.content_length or 0) > limit:
            raise payload_too_large(int(limit))
        async for chunk in self._chunks(limit):
            yield chunk
        self.is_connected = False
        yield b""

    async def _chunks(self, limit: float) -> AsyncGenerator[bytes, None]:
        received, more = 0, True
        while more:
            event = await self.receive()
            if event["type"] != "http.request":
                raise ClientGoneError
            received += len(event["body"])
            if received > limit:
                raise payload_too_large(int(limit))
            yield event["body"]
            more = event.get("more_body", False)


def decode(body: bytes, kind: type[_T]) -> _T:
    """Return JSON text as a `kind`, strictly.

    Refused are duplicate keys, invalid UTF-8 and Unicode, control characters (tab and line breaks only where the type
    allows several lines), integers outside 0..2^53, numbers that are not finite, and more than 32 levels of nesting.

    Raises:
        RegistryError: VALIDATION_ERROR with every fault there is.
    """
    faults: list[Fault] = []
    value = _parse(body, faults)
    faults.extend(_unfit(value, WHOLE, MAX_DEPTH))
    named = {fault.field for fault in faults}
    faults.extend(fault for fault in find_faults(value, kind) if fault.field not in named)
    if faults:
        raise validation_error(*faults)
    return msgspec.convert(value, kind)


def _parse(body: bytes, faults: list[Fault]) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            seen: set[str] = set()
            repeated = {key for key, _ in pairs if key in seen or seen.add(key)}
            faults.extend(Fault(_shown(key), "is there more than once") for key in sorted(repeated))
        return value

    try:
        return json.loads(
            body.decode("utf-8"), object_pairs_hook=unique, parse_int=_integer, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise _unreadable(f"is not UTF-8 (at byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise _unreadable(f"is not JSON: {error.msg} (at character {error.pos})") from None
    except RecursionError:
        raise _unreadable(f"is nested more than {MAX_DEPTH} levels deep") from None
