"""The arguments of a tool as models mean them: null for what they leave out, and numbers, flags and lists as texts.

A model writes text, and not every client gives its values the types of the definition. What can mean one thing only is
taken as that. Everything else stays as it is, and the rules of the arguments say what is wrong with it.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

_KINDS: Mapping[type[inspect.Type], type] = {
    inspect.IntType: int,
    inspect.BoolType: bool,
    inspect.StrType: str,
    inspect.LiteralType: str,
    inspect.ListType: list,
    inspect.StructType: dict,
}


class _Argument(NamedTuple):
    """What an argument may be, as decoded JSON: `members` are those of an object."""

    is_required: bool
    kinds: frozenset[type]
    members: type[msgspec.Struct] | None


def meant_arguments(arguments: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return arguments as a `kind` needs them. Those that are null or empty are left out, unless they are required."""
    known = _arguments(kind)
    meant = {name: _meant(value, known[name]) if name in known else value for name, value in arguments.items()}
    return {
        name: value
        for name, value in meant.items()
        if value not in (None, "") or name not in known or known[name].is_required
    }


def _meant(value: Any, argument: _Argument) -> Any:
    kinds = argument.kinds
    if isinstance(value, str) and (str not in kinds or (list in kinds and value.startswith("["))):
        value = _decoded(value, kinds)
    if isinstance(value, float) and int in kinds and value.is_integer():
        return int(value)  # JSON has one kind of numbers: 3.0 is a whole one
    if isinstance(value, dict) and argument.members is not None:
        return meant_arguments(value, argument.members)
    return value


def _decoded(text: str, kinds: frozenset[type]) -> Any:
    """Return the value that a text holds, if an argument may be of its kind; else the text, in a list if it may be."""
    for spelling in (text, text.lower()):  # True, as Python has it
        try:
            value = msgspec.json.decode(spelling)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            continue
        if value is None or type(value) in kinds or (type(value) is float and int in kinds):
            return value
    return [text] if list in kinds and text else text


@functools.cache
def _arguments(kind: type[msgspec.Struct]) -> Mapping[str, _Argument]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    arguments = {}
    for field in info.fields:
        types = list(_types(field.type))
        structs = [each.cls for each in types if isinstance(each, inspect.StructType)]
        kinds = frozenset(_KINDS[type(each)] for each in types if type(each) in _KINDS)
        arguments[field.encode_name] = _Argument(field.required, kinds, structs[0] if structs else None)
    return arguments


def _types(info: inspect.Type) -> Iterator[inspect.Type]:
    """Yield the types of a union, without what is noted on them."""
    if isinstance(info, inspect.Metadata):
        yield from _types(info.type)
    elif isinstance(info, inspect.UnionType):
        for member in info.types:
            yield from _types(member)
    else:
        yield info
