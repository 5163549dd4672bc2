"""Strict JSON bodies, in one place: what a handler gets as `data` has met every rule of its type.

RFC 8259 leaves duplicate keys, lone surrogates and huge numbers to the reader, and readers differ; I-JSON
(RFC 7493), which forbids them, is followed here.
"""

import contextlib
import json
import math
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from typing import Any, NoReturn, TypeVar

import msgspec
from litestar import Request
from litestar.enums import RequestEncodingType
from litestar.params import BodyKwarg

from registry.errors import (
    ClientGoneError,
    Fault,
    RegistryError,
    payload_too_large,
    unsupported_media_type,
    validation_error,
)
from registry.faults import WHOLE, dotted, find_faults

_T = TypeVar("_T")

MAX_DEPTH = 32
MAX_INTEGER = 2**53

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NAME_LENGTH = 100
_TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"


class StrictRequest(Request[Any, Any, Any]):
    """The application's request class: `Litestar(request_class=StrictRequest)`.

    A handler that takes `data` gets an instance of its annotation, decoded by `decode`. A body needs the
    content type `application/json`; none at all counts as `{}` where that is enough.
    """

    __slots__ = ()

    async def json(self) -> Any:
        """Return the body as the type the handler's `data` has.

        Raises:
            RegistryError: PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, VALIDATION_ERROR.
        """
        kind = self._json_kind()
        return await super().json() if kind is None else decode(await self.body(), kind)

    async def body(self) -> bytes:
        """Return the body; for a handler of JSON it is never empty, since Litestar would leave `data` out."""
        body, kind = await super().body(), self._json_kind()
        if kind is None:
            return body
        if body:
            self._require_json()
            return body
        if next(find_faults({}, _rules({}, kind)), None):
            raise validation_error(Fault(WHOLE, "is required: a JSON object"))
        return b"{}"

    def _json_kind(self) -> Any:
        field = self.route_handler.parsed_data_field
        if field is None:
            return None
        note = field.kwarg_definition
        is_json = not isinstance(note, BodyKwarg) or note.media_type == RequestEncodingType.JSON
        return field.annotation if is_json else None

    def _require_json(self) -> None:
        content_type, options = self.content_type
        if content_type.lower() != "application/json" or options.get("charset", "utf-8").lower() != "utf-8":
            raise unsupported_media_type()

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Yield the body's chunks, and an empty one at the end, within the largest size the handler takes.

        That is the application's, or the limit of the settings which the handler names as its `body_limit`.

        Raises:
            RegistryError: PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE for a compressed body.
            ClientGoneError: The caller hung up.
        """
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise unsupported_media_type("Compressed bodies are not read")
        named = self.route_handler.opt.get("body_limit")
        limit = getattr(self.app.state.limits, named) if named else self.route_handler.resolve_request_max_body_size()
        limit = limit or math.inf
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

    Refused are duplicate keys, invalid UTF-8 and Unicode, control characters (tab and line breaks only where
    the type allows several lines), integers outside 0..2^53, numbers that are not finite, and nesting deeper
    than `MAX_DEPTH`.

    Raises:
        RegistryError: VALIDATION_ERROR with every fault there is.
    """
    faults: list[Fault] = []
    value = _parse(body, faults)
    faults.extend(_unfit(value, WHOLE, MAX_DEPTH))
    # JSON writes a line break as an escape: where there is none, msgspec's own check is enough.
    if not faults and b"\\" not in body:
        with contextlib.suppress(msgspec.ValidationError):
            if (rules := _rules(value, kind)) is not kind:
                msgspec.convert(value, rules)
            return msgspec.convert(value, kind)
    for one in dict.fromkeys((_rules(value, kind), kind)):
        named = {fault.field for fault in faults}
        faults.extend(fault for fault in find_faults(value, one) if fault.field not in named)
    if faults:
        raise validation_error(*faults)
    return msgspec.convert(value, kind)


def _rules(value: Any, kind: Any) -> Any:
    """Return the type whose rules count: a body's own, or the one its `rules_for` tells by what is sent."""
    choose = getattr(kind, "rules_for", None)
    return choose(value) if choose else kind


def _parse(body: bytes, faults: list[Fault]) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            faults.extend(Fault(_shown(key), "is there more than once") for key in counts if counts[key] > 1)
        return value

    try:
        text = body.decode("utf-8")
        return json.loads(text, object_pairs_hook=unique, parse_int=_integer, parse_constant=_not_a_number)
    except UnicodeDecodeError as error:
        raise _unreadable(f"is not UTF-8 (at byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise _unreadable(f"is not JSON: {error.msg} (at character {error.pos})") from None
    except RecursionError:
        raise _unreadable(_TOO_DEEP) from None


def _unfit(value: Any, field: str, depth: int) -> Iterator[Fault]:
    """Yield the faults of `value` whatever its type should be."""
    if isinstance(value, str):
        if _FORBIDDEN.search(value):
            yield Fault(field, "must not have control characters or broken Unicode")
    elif isinstance(value, dict | list):
        if depth == 0:
            yield Fault(field, _TOO_DEEP)
            return
        for name, item in _items(value, field):
            if _FORBIDDEN.search(name):
                yield Fault(_shown(name), "is a key with control characters or broken Unicode")
            else:
                yield from _unfit(item, name, depth - 1)
    elif isinstance(value, int) and not 0 <= value <= MAX_INTEGER:
        yield Fault(field, f"must be a whole number from 0 to {MAX_INTEGER}")
    elif isinstance(value, float) and not math.isfinite(value):
        yield Fault(field, "must be a finite number")


def _items(value: dict[str, Any] | list[Any], field: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((dotted(field, key), item) for key, item in value.items())
    return ((f"{field}[{place}]", item) for place, item in enumerate(value))


def _integer(digits: str) -> int:
    # int() is quadratic in the number of digits, and refuses more than 4,300 of them with a bare ValueError.
    return int(digits) if len(digits) <= len(str(MAX_INTEGER)) else MAX_INTEGER + 1


def _not_a_number(constant: str) -> NoReturn:
    raise _unreadable(f"is not JSON: {constant} is not a number")


def _unreadable(message: str) -> RegistryError:
    return validation_error(Fault(WHOLE, message))


def _shown(name: str) -> str:
    return _FORBIDDEN.sub("\ufffd", name)[:_NAME_LENGTH]
