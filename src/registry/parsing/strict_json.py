"""Decodes JSON strictly: a decoded value has met every rule of its type.

RFC 8259 leaves duplicate keys, lone surrogates and huge numbers to the reader, and readers differ; I-JSON
(RFC 7493), which forbids them, is followed here.
"""

import contextlib
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, TypeVar

import msgspec

from registry.domain.validation import MAX_NAME, dotted, fields_of_lines, find_errors, unknown_names
from registry.errors import ROOT, FieldError, RegistryError, validation_error

_T = TypeVar("_T")

MAX_DEPTH = 32
MAX_INTEGER = 2**53

MAX_VALUES = 5_000
"""The maximum number of values in one text, including nested ones. Each costs microseconds."""

_MOST_IGNORED = 10

_SEPARATORS = (b",", b"[", b"{")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TOO_DEEP = f"is nested more than {MAX_DEPTH} levels deep"


def decode(body: bytes, kind: type[_T]) -> _T:
    """Return JSON text as a `kind`, strictly.

    Refused are duplicate keys, invalid UTF-8 and Unicode, control characters (tab and line breaks only where
    the type allows several lines), integers outside 0..2^53, numbers that are not finite, and nesting deeper
    than `MAX_DEPTH`, and more than `MAX_VALUES` values. If the type has a function `prepared`, its rules apply to what
    that returns for the decoded JSON. A method `ignoring` of the type is called with the names that it does not have.

    Raises:
        RegistryError: VALIDATION_ERROR with every fault there is.
    """
    faults: list[FieldError] = []
    value = _parse(body, faults)
    faults.extend(_unfit(value, ROOT, MAX_DEPTH))
    if faults:
        value = _encodable(value, MAX_DEPTH)
    if prepare := getattr(kind, "prepared", None):
        value = prepare(value)
    kinds = tuple(dict.fromkeys((rules_of(value, kind), kind)))
    # msgspec does not know texts of one line. It is sufficient if no such text has a line break, which JSON escapes.
    if not faults and (b"\\" not in body or _are_lines(value, kinds)):
        with contextlib.suppress(msgspec.ValidationError):
            for shape in kinds[:-1]:
                msgspec.convert(value, shape)
            return _made(value, kind)
    for shape in kinds:
        named = {fault.field for fault in faults}
        faults.extend(fault for fault in find_errors(value, shape) if fault.field not in named)
    if faults:
        raise validation_error(*faults)
    return _made(value, kind)


def _made(value: Any, kind: type[_T]) -> _T:
    struct = msgspec.convert(value, kind)
    if (note := getattr(struct, "ignoring", None)) is not None:
        note(list(itertools.islice(unknown_names(value, kind), _MOST_IGNORED)))
    return struct


def _are_lines(value: Any, kinds: Iterable[Any]) -> bool:
    """Return whether no text has a character that JSON escapes, except those that may have line breaks."""
    if not isinstance(value, dict):
        return False
    free = frozenset.intersection(*map(fields_of_lines, kinds))
    return b"\\" not in msgspec.json.encode({name: item for name, item in value.items() if name not in free})


def rules_of(value: Any, kind: Any) -> Any:
    """Return the type whose rules apply: the type itself, or the one that its `rules_for` chooses by the fields."""
    choose = getattr(kind, "rules_for", None)
    return choose(value) if choose else kind


def _parse(body: bytes, faults: list[FieldError]) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            faults.extend(FieldError(_shown(key), "is there more than once") for key in counts if counts[key] > 1)
        return value

    if has_more_values(body, MAX_VALUES):
        raise _unreadable(f"has more than {MAX_VALUES:,} values")
    try:
        text = body.decode("utf-8")
        return json.loads(text, object_pairs_hook=unique, parse_int=_integer, parse_constant=_not_a_number)
    except UnicodeDecodeError as error:
        raise _unreadable(f"is not UTF-8 (at byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise _unreadable(f"is not JSON: {error.msg} (at character {error.pos})") from None
    except RecursionError:
        raise _unreadable(_TOO_DEEP) from None


def _unfit(value: Any, field: str, depth: int) -> Iterator[FieldError]:
    """Yield the errors of `value` that no type allows."""
    if isinstance(value, str):
        if _FORBIDDEN.search(value):
            yield FieldError(field, "must not have control characters or broken Unicode")
    elif isinstance(value, dict | list):
        if depth == 0:
            yield FieldError(field, _TOO_DEEP)
            return
        yield from _unfit_within(value, field, depth - 1)
    elif isinstance(value, int) and not 0 <= value <= MAX_INTEGER:
        yield FieldError(field, f"must be a whole number from 0 to {MAX_INTEGER}")
    elif isinstance(value, float) and not math.isfinite(value):
        yield FieldError(field, "must be a finite number")


def _encodable(value: Any, depth: int) -> Any:
    """Return the value without lone surrogates, which msgspec cannot read, so that its other errors can be found."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return None
    if isinstance(value, list):
        return [_encodable(item, depth - 1) for item in value]
    return {_SURROGATE.sub("\ufffd", key): _encodable(item, depth - 1) for key, item in value.items()}


def _unfit_within(value: dict[str, Any] | list[Any], field: str, depth: int) -> Iterator[FieldError]:
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from _unfit(item, f"{field}[{place}]", depth)
        return
    for key, item in value.items():
        if _FORBIDDEN.search(key):
            yield FieldError(_shown(dotted(field, key)), "is a key with control characters or broken Unicode")
        else:
            yield from _unfit(item, dotted(field, key), depth)


def has_more_values(body: bytes, most: int) -> bool:
    """Return whether a JSON text has more than `most` values, counted without parsing it."""
    if sum(map(body.count, _SEPARATORS)) < most:
        return False
    outside_strings = b"".join(body.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    return sum(map(outside_strings.count, _SEPARATORS)) >= most


def _integer(digits: str) -> int:
    # int() is quadratic in the number of digits, and raises a plain ValueError for more than 4,300 of them.
    return int(digits) if len(digits) <= len(str(MAX_INTEGER)) else MAX_INTEGER + 1


def _not_a_number(constant: str) -> NoReturn:
    raise _unreadable(f"is not JSON: {constant} is not a number")


def _unreadable(message: str) -> RegistryError:
    return validation_error(FieldError(ROOT, message))


def _shown(name: str) -> str:
    return _FORBIDDEN.sub("\ufffd", name[:MAX_NAME])
