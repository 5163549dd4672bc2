"""Ids for skill folders: the folder's name, qualified by the name of a parent folder if two are equal."""

import hashlib
import itertools
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from registry.skill_folder.reading import SkillFolder

_ID = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")
_INVALID = re.compile(r"[^a-z0-9_-]+")
_MAX_LENGTH = 64
_CONTAINERS = frozenset({"skills", "skill", "plugins", "plugin", "src", "packages", "agents", "examples"})
"""Names of folders that contain skills but do not identify their owner, as do names with a leading dot."""


def suggest_id(folder: Path, root: Path, skill: SkillFolder) -> str:
    """Return an id of 1 to 64 characters of a-z, 0-9, `-` and `_`, with a letter or digit at both ends.

    The id is the folder's name if it is valid, else a slug of that name, else a slug of the skill's name, else `skill-`
    and eight hexadecimal digits of a hash of the path below `root`. The name of `root` itself says nothing of the skill
    in it: its id is a slug of the skill's name.
    """
    name = folder.name if folder != root else ""
    return id_of_name(name) or slug(skill.name.lower()) or f"skill-{_path_hash(folder, root)}"


def id_of_name(name: str) -> str:
    """Return the id that a folder's name gives, empty if it has no letters and digits of ASCII."""
    name = name.lower()
    return name if _ID.fullmatch(name) else slug(name)


def candidate_ids(folder: Path, root: Path, skill: SkillFolder) -> Iterator[str]:
    """Return ids for a folder, in order of preference: that of `suggest_id`, `qualified_id`, and some with a hash."""
    return qualified_ids(folder, root, suggest_id(folder, root, skill))


def qualified_ids(folder: Path, root: Path, skill_id: str) -> Iterator[str]:
    """Yield an id, then forms of it that other folders of the same name do not have."""
    yield skill_id
    yield qualified_id(folder, root, skill_id)
    hashed = _hashed(folder, root, skill_id)
    yield hashed
    yield from (f"{hashed}-{number}" for number in itertools.count(2))


def qualified_id(folder: Path, root: Path, skill_id: str) -> str:
    """Return the id as `owner/id`. The owner is the nearest parent folder that identifies one.

    Folders such as `skills` do not identify an owner. Without an owner the result is the id and eight hexadecimal
    digits of a hash of the path below `root`.
    """
    for parent in folder.relative_to(root).parents:
        owner = slug(parent.name.lower())
        if owner and parent.name.lower() not in _CONTAINERS and not parent.name.startswith("."):
            return f"{owner}/{skill_id}"
    return _hashed(folder, root, skill_id)


def _hashed(folder: Path, root: Path, skill_id: str) -> str:
    return f"{skill_id[: _MAX_LENGTH - 9]}-{_path_hash(folder, root)}"


def derived_id(name: str, folder: str) -> str:
    """Return the id of a skill that is not in a folder of its own yet: always the same for the same two names.

    It is the skill's name if that is an id, else the name of its folder at its origin, else a slug of one of them, else
    `skill-` and eight hexadecimal digits of a hash of the name.
    """
    for candidate in (name, folder.lower()):
        if _ID.fullmatch(candidate):
            return candidate
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return slug(name.lower()) or slug(folder.lower()) or f"skill-{digest[:8]}"


def slug(name: str) -> str:
    """Return the ASCII letters and digits of a name, with hyphens between them; empty if it has none."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _INVALID.sub("-", plain).strip("-_")[:_MAX_LENGTH].rstrip("-_")


def _path_hash(folder: Path, root: Path) -> str:
    return hashlib.sha256(os.fsencode(folder.relative_to(root).as_posix())).hexdigest()[:8]
