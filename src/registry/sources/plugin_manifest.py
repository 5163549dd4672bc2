"""Reads `plugin.json`, the manifest of a plugin: which skills it offers, and what holds for all of them.

Claude Code, Codex, Copilot and Cursor have the same fields in different places. The file is untrusted. A field of
another type than the reference of Claude Code has counts as missing.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from registry.parsing.json_document import JsonUnreadable, read_json

MANIFEST_PATHS = (
    ".claude-plugin/plugin.json",
    "plugin.json",
    ".plugin/plugin.json",  # Copilot, as the next
    ".github/plugin/plugin.json",
    ".codex-plugin/plugin.json",
    ".cursor-plugin/plugin.json",
)
"""The paths at which a manifest is searched in the folder of a plugin, in this order. The first counts."""

_MAX_BYTES = 1 << 20
_MAX_PATHS = 1_000
_TEXTS = ("version", "author", "license", "description")


class PluginManifest(NamedTuple):
    """The fields of a manifest that concern skills. Texts are empty if it does not have them.

    `skills` are paths of skills, or of folders with skills, relative to the plugin; None if the manifest names none.
    """

    version: str = ""
    author: str = ""
    license: str = ""
    description: str = ""
    skills: list[str] | None = None

    def stated(self) -> dict[str, str]:
        """Return the texts that the manifest has."""
        texts = {name: getattr(self, name) for name in _TEXTS}
        return {name: text for name, text in texts.items() if text.strip()}


class Manifests:
    """Reads the manifests of folders, each once. Files and folders behind links are not read."""

    def __init__(self) -> None:
        self._known: dict[str, PluginManifest | None] = {}  # by path, whose texts compare faster
        self._homes: dict[tuple[str, str], Path | None] = {}

    def at(self, folder: Path) -> PluginManifest | None:
        """Return the manifest of the plugin in a folder, None without a readable one."""
        at = str(folder)
        if at not in self._known:
            self._known[at] = next(filter(None, (_read(f"{at}/{path}") for path in MANIFEST_PATHS)), None)
        return self._known[at]

    @property
    def are_there(self) -> bool:
        """Whether any folder that was checked has a manifest."""
        return any(manifest is not None for manifest in self._known.values())

    def home_of(self, skill: Path, root: Path) -> Path | None:
        """Return the nearest folder with a manifest, from that of the skill up to `root`; None if there is none."""
        if self.at(skill) is not None:
            return skill
        if skill in (root, skill.parent):
            return None
        key = (str(skill.parent), str(root))
        if key not in self._homes:
            self._homes[key] = self.home_of(skill.parent, root)
        return self._homes[key]


def _read(location: str) -> PluginManifest | None:
    if not os.path.isfile(location):  # noqa: PTH113 - most folders have none, and a path would cost more
        return None
    if os.path.realpath(location) != location:
        return None
    try:
        with open(location, "rb") as file:  # noqa: PTH123 - as above
            data = file.read(_MAX_BYTES + 1)
        fields = read_json(data, dict[str, Any]) if len(data) <= _MAX_BYTES else {}
    except (JsonUnreadable, OSError):
        return None
    return manifest_of(fields) if isinstance(fields.get("name"), str) else None


def manifest_of(fields: dict[str, Any]) -> PluginManifest:
    """Return the manifest with the fields of a decoded plugin.json."""
    author = fields.get("author", "")
    author = author.get("name", "") if isinstance(author, dict) else author
    members = {**fields, "author": author}
    texts = {name: members[name] for name in _TEXTS if isinstance(members.get(name), str)}
    return PluginManifest(**texts, skills=paths_of(fields.get("skills")))


def paths_of(value: object) -> list[str] | None:
    """Return the distinct paths that `skills` has: one, or a list; None if there is none."""
    try:
        paths = msgspec.convert([value] if isinstance(value, str) else value, list[str])
    except msgspec.ValidationError:
        return None
    return list(dict.fromkeys(paths[:_MAX_PATHS])) or None
