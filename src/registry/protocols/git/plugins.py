"""The documents of a plugin marketplace, as Claude Code, Codex and Copilot CLI read them, and the names of plugins."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from dulwich.objects import Blob, ObjectID, ShaFile

from registry.protocols.git.objects import Entry, blob, file_entry, folder_entry, trees

_HASH_DIGITS = 8


class Plugin(NamedTuple):
    """A plugin of one skill. `folder` is the id of the tree of the skill's folder.

    `dependencies` are the names of the plugins that it needs, which are in the same marketplace.
    """

    name: str
    skill: str
    description: str
    version: str
    folder: ObjectID
    dependencies: tuple[str, ...] = ()


def plugin_names(skill_ids: Iterable[str]) -> Mapping[str, str]:
    """Return the name of the plugin of each skill: the skill's name, with its scope in front where several share it.

    Should that be the name of another one, it ends with a hash of the id, so that no skill passes for another.
    """
    ids = list(skill_ids)
    shared = Counter(_name(skill_id) for skill_id in ids)
    scoped = {skill_id: _name(skill_id) if shared[_name(skill_id)] == 1 else _scoped(skill_id) for skill_id in ids}
    taken = Counter(scoped.values())
    return {skill_id: name if taken[name] == 1 else f"{name}-{_hash(skill_id)}" for skill_id, name in scoped.items()}


def _name(skill_id: str) -> str:
    return skill_id.rpartition("/")[2]


def _scoped(skill_id: str) -> str:
    return skill_id.replace("/", "-").replace("_", "-")


def _hash(skill_id: str) -> str:
    return hashlib.sha256(skill_id.encode()).hexdigest()[:_HASH_DIGITS]


def plugin_objects(plugin: Plugin) -> Iterator[ShaFile]:
    """Yield the objects of a plugin around the folder of its skill. The tree of the plugin is the last."""
    fields = {"name": plugin.name, "description": plugin.description, "version": plugin.version}
    needed = {"dependencies": plugin.dependencies} if plugin.dependencies else {}
    manifest = _json({**fields, **needed})
    yield manifest
    entries = {
        ".claude-plugin/plugin.json": file_entry(manifest),
        f"skills/{plugin.skill}": folder_entry(plugin.folder),
    }
    yield from trees(entries)


def marketplace_objects(name: str, plugins: Iterable[tuple[Plugin, ObjectID]]) -> Iterator[ShaFile]:
    """Yield the objects of a marketplace around its plugins, given with their trees. Its own tree is the last.

    The plugins are taken one by one, and of each only its line of the document and its entry are kept.
    """
    lines: list[bytes] = []
    entries: dict[str, Entry] = {}
    for plugin, tree in plugins:
        entries[plugin.name] = folder_entry(tree)
        lines.append(_line(plugin))
    head = msgspec.json.encode({"name": name, "owner": {"name": name}}).removesuffix(b"}")
    document = blob(b'%s,"plugins":[\n%s\n]}\n' % (head, b",\n".join(lines)))
    yield document
    around = {".claude-plugin/marketplace.json": file_entry(document)}
    if entries:
        (folder,) = trees(entries)
        yield folder
        around["plugins"] = folder_entry(folder.id)
    yield from trees(around)


def _line(plugin: Plugin) -> bytes:
    return msgspec.json.encode(
        {
            "name": plugin.name,
            "source": f"./plugins/{plugin.name}",
            "description": plugin.description,
            "version": plugin.version,
        }
    )


def _json(document: object) -> Blob:
    return blob(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
