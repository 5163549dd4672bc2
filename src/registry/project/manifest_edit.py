"""One entry of a skill-project.toml put in, changed or taken out, and everything else left as it is written."""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

from registry.errors import RegistryError, conflict, validation_error
from registry.project.manifest import MAX_BYTES, Dependency, parse_toml

_OURS = tuple(Dependency.__struct_fields__)


def put_dependency(text: str, skill_id: str, dependency: Dependency, name: str) -> str:
    """Return the text of the file `name` with this entry; keys of the entry that are not ours stay.

    Raises CONFLICT where the file is written in a way that does not allow it.
    """
    wanted: dict[str, Any] = msgspec.to_builtins(dependency)
    expected = _dependencies(text, name)
    before = expected.get(skill_id)
    others = {key: value for key, value in before.items() if key not in _OURS} if isinstance(before, dict) else {}
    plain = set(wanted) == {"version"} and not isinstance(before, dict)
    expected[skill_id] = wanted["version"] if plain else wanted | others
    return _edited(text, name, expected, lambda table: _put(table, skill_id, wanted))


def remove_dependency(text: str, skill_id: str, name: str) -> str:
    """Return the text of the file `name` without this entry, which must be there. Raises CONFLICT."""
    expected = _dependencies(text, name)
    del expected[skill_id]
    return _edited(text, name, expected, lambda table: table.__delitem__(skill_id))


def _dependencies(text: str, name: str) -> dict[str, Any]:
    return _parts(text, name)[0]


def _edited(text: str, name: str, expected: dict[str, Any], edit: Callable[[Any], None]) -> str:
    """Return the text after an edit that is known to have changed the dependencies to what is expected, and no more."""
    try:
        document = tomlkit.parse(text)
        edit(document.setdefault("dependencies", tomlkit.table()))
        after = document.as_string()
    except (TOMLKitError, RecursionError):
        raise _impossible(name) from None
    if len(after.encode()) > MAX_BYTES:
        raise validation_error(message=f"{name} would become larger than {MAX_BYTES:,} bytes")
    try:
        agrees = _parts(after, name) == (expected, _parts(text, name)[1])
    except RegistryError:
        agrees = False
    if not agrees:
        raise _impossible(name)
    return after


def _parts(text: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the dependencies of a file, and the rest. Floats are left as text, since `nan` does not equal itself."""
    rest = parse_toml(text.encode(), name, str)
    return rest.pop("dependencies", {}), rest


def _impossible(name: str) -> RegistryError:
    return conflict(f"{name} is written in a way that does not allow this change: make it by hand")


def _put(table: Any, skill_id: str, wanted: Mapping[str, Any]) -> None:
    current = table.get(skill_id)
    if not isinstance(current, MutableMapping):
        table[skill_id] = wanted["version"] if set(wanted) == {"version"} else _item(wanted)
        return
    for key in _OURS:
        if key not in wanted:
            current.pop(key, None)
        elif key not in current or _plain(current[key]) != wanted[key]:
            current[key] = _item(wanted[key])


def _plain(item: Any) -> Any:
    return item.unwrap() if isinstance(item, Item) else item


def _item(value: Any) -> Any:
    """Return a value as it is written on one line."""
    if not isinstance(value, Mapping):
        return value
    table = tomlkit.inline_table()
    for key, one in value.items():
        table[key] = _item(one)
    return table
