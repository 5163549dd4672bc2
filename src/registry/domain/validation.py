"""Validates decoded values against types, and reports all errors in plain words.

msgspec stops at the first error. So this module walks an invalid value field by field: it enters structs, lists, maps
and unions, and leaves all other checks to msgspec. The message of a rule is the `extra["rule"]` of its `Meta`. Texts
must not have line breaks and tabs unless their `Meta` has `extra={"multiline": True}`.
"""

import functools
import itertools
import re
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, UnsetType

from registry.errors import MAX_DETAILS, ROOT, FieldError, validation_error

_T = TypeVar("_T")

MAX_NAME = 100
"""Characters of one part of a field's name; a key that a caller sent may be as long as the whole body."""

_LINE_BREAK = re.compile(r"[\t\n\r]")
_PLACE = " - at `$"
_WRONG_TYPE = re.compile(r"Expected `([^`]*)`, got `([^`]*)`$")
_BOUND = re.compile(r"Expected `\w+` (>=|<=|>|<) (\S+)$")
_LENGTH = re.compile(r"Expected `(\w+)` of length (>=|<=|==) (\d+)$")

_TYPE_NAMES: Mapping[str, str] = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_BOUNDS: Mapping[str, str] = {
    ">=": "at least",
    "<=": "at most",
    ">": "more than",
    "<": "less than",
    "==": "exactly",
}


def convert(value: Any, kind: type[_T], *, field: str = ROOT) -> _T:
    """Return `value` as a `kind`, without coercion: `"5"`, `5.0` and `true` are not 5.

    Raises:
        RegistryError: VALIDATION_ERROR with all errors.
    """
    if errors := list(find_errors(value, kind, field)):
        raise validation_error(*errors)
    return msgspec.convert(value, kind)


def find_errors(value: Any, kind: Any, field: str = ROOT) -> Iterator[FieldError]:
    """Yield the errors of `value`, which is decoded JSON, as a `kind`. `field` is the dotted name of the value.

    At most the first `MAX_DETAILS` errors within a value are reported.
    """
    member, metas = _open(kind, value)
    inner = list(itertools.islice(_inner_errors(value, member, field), MAX_DETAILS))
    yield from inner
    if not inner and (error := _own_error(value, kind, metas, field)):
        yield error


def unknown_names(value: Any, kind: Any, field: str = ROOT) -> Iterator[str]:
    """Yield the dotted names of the members of decoded JSON that its type does not have, also within structs."""
    member, _ = _open(kind, value)
    if isinstance(value, dict) and _is_struct(member):
        type_of = {entry.encode_name: entry.type for entry in _fields(member)}
        for name, item in value.items():
            if name in type_of:
                yield from unknown_names(item, type_of[name], dotted(field, name))
            else:
                yield dotted(field, name)


@functools.cache
def fields_of_lines(kind: Any) -> frozenset[str]:
    """Return the names of a struct's texts that may have line breaks; none for any other type."""
    members = _fields(kind) if _is_struct(kind) else ()
    return frozenset(member.encode_name for member in members if _extra(_open(member.type, "")[1], "multiline"))


def _own_error(value: Any, kind: Any, metas: list[Meta], field: str) -> FieldError | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return _field_error(str(error), kind, metas, field)
    if isinstance(value, str) and _LINE_BREAK.search(value) and not _extra(metas, "multiline"):
        return FieldError(field, _extra(metas, "rule") or "must be one line without tabs")
    return None


def _inner_errors(value: Any, kind: Any, field: str) -> Iterator[FieldError]:
    if isinstance(value, dict) and _is_struct(kind):
        yield from _struct_errors(value, kind, field)
    elif isinstance(value, dict) and get_origin(kind) is dict:
        for key, item in value.items():
            yield from find_errors(item, get_args(kind)[1], dotted(field, key))
    elif isinstance(value, list) and get_origin(kind) in {list, tuple, set, frozenset}:
        for position, item in enumerate(value):
            yield from find_errors(item, get_args(kind)[0], f"{field}[{position}]")


def _struct_errors(value: dict[str, Any], kind: type[msgspec.Struct], field: str) -> Iterator[FieldError]:
    for member in _fields(kind):
        name = dotted(field, member.encode_name)
        if member.encode_name in value:
            yield from find_errors(value[member.encode_name], member.type, name)
        elif member.required:
            yield FieldError(name, "is required")
    if kind.__struct_config__.forbid_unknown_fields:
        names = {entry.encode_name for entry in _fields(kind)}
        for name in value.keys() - names:
            yield FieldError(dotted(field, name), f"is unknown: the fields are {', '.join(sorted(names))}")


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def _open(kind: Any, value: Any) -> tuple[Any, list[Meta]]:
    """Return the member of the annotated or union type `kind` that fits the shape of `value`, and its rules."""
    origin = get_origin(kind)
    if origin is Annotated:
        base, *notes = get_args(kind)
        member, metas = _open(base, value)
        return member, [*metas, *(note for note in notes if isinstance(note, Meta))]
    if origin in {Union, types.UnionType}:
        members = [_open(part, value) for part in get_args(kind) if part not in {type(None), UnsetType}]
        fitting = [part for part in members if _fits(part[0], value)]
        return fitting[0] if fitting else (members[0] if len(members) == 1 else (kind, []))
    return kind, []


def _fits(kind: Any, value: Any) -> bool:
    if _is_struct(kind):
        tag = kind.__struct_config__
        return isinstance(value, dict) and (tag.tag is None or value.get(tag.tag_field) == tag.tag)
    shape = get_origin(kind) or kind
    return isinstance(shape, type) and isinstance(value, shape) and not isinstance(value, bool | None)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _field_error(message: str, kind: Any, metas: list[Meta], field: str) -> FieldError:
    before, separator, place = message.rpartition(_PLACE)
    if separator and place.endswith("`"):
        message, place = before, place[:-1]
        field = field + place if place.startswith("[") else dotted(field, place.lstrip("."))
    if wrong := _WRONG_TYPE.match(message):
        if wrong.groups() == ("int", "float"):
            return FieldError(field, "must be a whole number without a fraction")
        return FieldError(field, f"must be {_names(wrong[1])}, not {_names(wrong[2])}")
    return FieldError(field, _extra(metas, "rule") or _translate_message(message, kind))


def _translate_message(message: str, kind: Any) -> str:
    if bound := _BOUND.match(message):
        return f"must be {_BOUNDS[bound[1]]} {bound[2].removesuffix('.0')}"
    if length := _LENGTH.match(message):
        unit = "characters" if length[1] == "str" else "items"
        return f"must have {_BOUNDS[length[2]]} {length[3]} {unit}"
    if message.startswith("Invalid enum value") and (allowed := _literals(kind)):
        return f"must be one of {', '.join(allowed)}"
    return "has an invalid format" if "matching regex" in message else message


def _literals(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [str(value) for value in get_args(kind)]
    return [value for part in get_args(kind) if get_origin(part) for value in _literals(part)]


def _names(types_: str) -> str:
    return " or ".join(_TYPE_NAMES.get(name, name) for name in types_.split(" | "))


def _extra(metas: list[Meta], key: str) -> Any:
    return next((meta.extra[key] for meta in metas if meta.extra and key in meta.extra), None)


def dotted(field: str, name: str) -> str:
    """Return the dotted name of the member `name` of `field`, cut to `MAX_NAME` characters."""
    name = name[:MAX_NAME]
    return name if field == ROOT or not name else f"{field}.{name}"
