"""Adds, changes or removes one entry of a skill-project.toml, or its agents, and leaves all other text as it is."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

from registry.errors import RegistryError, conflict, validation_error
from registry.project.manifest import MAX_BYTES, Dependency, parse_toml

_FIELDS = tuple(Dependency.__struct_fields__)


def put_dependency(text: str, skill_id: str, dependency: Dependency, name: str) -> str:
    """Return the text of the file `name` with this entry. Unknown keys of an existing entry stay.

    Raises CONFLICT if the layout of the file does not allow the change.
    """
    fields: dict[str, Any] = msgspec.to_builtins(dependency)
    expected = _dependencies(text, name)
    current = expected.get(skill_id)
    others = {key: value for key, value in current.items() if key not in _FIELDS} if isinstance(current, dict) else {}
    is_short = set(fields) == {"version"} and not isinstance(current, dict)
    expected[skill_id] = fields["version"] if is_short else fields | others
    return _edited(text, name, expected, lambda table: _put(table, skill_id, fields))


def remove_dependency(text: str, skill_id: str, name: str) -> str:
    """Return the text of the file `name` without this entry, which must be there. Raises CONFLICT."""
    expected = _dependencies(text, name)
    del expected[skill_id]
    return _edited(text, name, expected, lambda table: table.__delitem__(skill_id))


def put_agents(text: str, agents: Sequence[str], *, links: bool, name: str) -> str:
    """Return the text of the file `name` with these agents. Raises CONFLICT if its layout does not allow the change."""
    try:
        document = tomlkit.parse(text)
        settings = document.setdefault("tool", tomlkit.table(is_super_table=True)).setdefault(
            "skill-registry", tomlkit.table()
        )
        settings["agents"] = list(agents)
        if links or "agent_links" in settings:
            settings["agent_links"] = links
        after = document.as_string()
        (before, rest), (now, others) = _parts(text, name), _parts(after, name)
        for table in (rest, others):
            own = table.setdefault("tool", {}).setdefault("skill-registry", {})
            own.pop("agents", None)
            own.pop("agent_links", None)
    except (TOMLKitError, RecursionError, RegistryError, AttributeError, TypeError):
        raise _impossible(name) from None
    if (before, rest) != (now, others):
        raise _impossible(name)
    return after


def _dependencies(text: str, name: str) -> dict[str, Any]:
    return _parts(text, name)[0]


def _edited(text: str, name: str, expected: dict[str, Any], edit: Callable[[Any], None]) -> str:
    """Return the text after an edit, checked to change the dependencies to `expected` and nothing else."""
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
    """Return the dependencies of a file, and the rest. Floats stay text, since `nan` does not equal itself."""
    rest = parse_toml(text.encode(), name, str)
    return rest.pop("dependencies", {}), rest


def _impossible(name: str) -> RegistryError:
    return conflict(f"The layout of {name} does not allow this change: edit the file by hand")


def _put(table: Any, skill_id: str, fields: Mapping[str, Any]) -> None:
    current = table.get(skill_id)
    if not isinstance(current, MutableMapping):
        table[skill_id] = fields["version"] if set(fields) == {"version"} else _item(fields)
        return
    for key in _FIELDS:
        if key not in fields:
            current.pop(key, None)
        elif key not in current or _plain(current[key]) != fields[key]:
            current[key] = _item(fields[key])


def _plain(item: Any) -> Any:
    return item.unwrap() if isinstance(item, Item) else item


def _item(value: Any) -> Any:
    """Return a value in the form of a single line."""
    if not isinstance(value, Mapping):
        return value
    table = tomlkit.inline_table()
    for key, element in value.items():
        table[key] = _item(element)
    return table
