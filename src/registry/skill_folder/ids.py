"""Ids for skills found on disk: made of the folder's name, qualified by the folder above where two are alike."""

import hashlib
import os
import re
import unicodedata
from pathlib import Path

from registry.skill_folder.reading import SkillFolder

_ID = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")
_UNFIT = re.compile(r"[^a-z0-9_-]+")
_LONGEST = 64
_CONTAINERS = frozenset({"skills", "skill", "plugins", "plugin", "src", "packages", "agents", "examples"})
"""Folders that hold skills without saying whose they are; a name with a leading dot says as little."""


def suggest_id(folder: Path, root: Path, skill: SkillFolder) -> str:
    """Return an id of 1 to 64 of a-z, 0-9, `-` and `_`, beginning and ending with a letter or digit.

    It is the folder's name where that fits, else what of it fits, else of the skill's name, else `skill-` and eight
    hexadecimal digits of the path below `root`.
    """
    name = folder.name.lower()
    if _ID.fullmatch(name):
        return name
    return _slug(name) or _slug(skill.name.lower()) or f"skill-{_path_hash(folder, root)}"


def qualified_id(folder: Path, root: Path, skill_id: str) -> str:
    """Return the id with what tells it from its like: `owner/id`, by the nearest folder above that names one.

    Folders such as `skills` name nobody. With none left it is the id and eight digits of the path below `root`.
    """
    for parent in folder.relative_to(root).parents:
        owner = _slug(parent.name.lower())
        if owner and parent.name.lower() not in _CONTAINERS and not parent.name.startswith("."):
            return f"{owner}/{skill_id}"
    return f"{skill_id[: _LONGEST - 9]}-{_path_hash(folder, root)}"


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _UNFIT.sub("-", plain).strip("-_")[:_LONGEST].rstrip("-_")


def _path_hash(folder: Path, root: Path) -> str:
    return hashlib.sha256(os.fsencode(folder.relative_to(root).as_posix())).hexdigest()[:8]
