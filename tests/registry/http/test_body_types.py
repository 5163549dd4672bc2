"""The types of messages keep to what msgspec reads safely."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

import registry


def structs() -> Iterator[type[msgspec.Struct]]:
    for module in pkgutil.walk_packages(registry.__path__, "registry."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = [msgspec.Struct]
    for each in found:
        found += each.__subclasses__()
    return (each for each in found[1:] if each.__module__.startswith("registry."))


def patterns_beside_lists(kind: Any) -> Iterator[Any]:
    """Yield the unions of a list with a text that has a pattern.

    msgspec 0.22.0 frees the pattern while it is in use: a few thousand messages end the process.
    """
    if get_origin(kind) in {Union, UnionType}:
        members = get_args(kind)
        texts = [member for member in members if get_origin(member) is Annotated]
        if any(getattr(meta, "pattern", None) for member in texts for meta in member.__metadata__) and any(
            get_origin(member) in {list, tuple, dict, set, frozenset} for member in members
        ):
            yield kind
    for part in get_args(kind):
        yield from patterns_beside_lists(part)


def test_no_text_with_a_pattern_stands_beside_a_list() -> None:
    found = [
        f"{each.__module__}.{each.__qualname__}.{name}"
        for each in structs()
        for name, kind in get_type_hints(each, include_extras=True).items()
        if any(patterns_beside_lists(kind))
    ]
    assert found == []
