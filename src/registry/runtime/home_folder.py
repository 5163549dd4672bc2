"""Paths that people write: with `~`, with `..`, and of a SKILL.md in place of its folder."""

import os
from pathlib import Path

from registry.domain.skill_file import is_skill_file


def expanded(path: str) -> Path:
    """Return the absolute path, with `~` and `~user` as home folders; as it is where there is no such user.

    It has no `..`: behind a link, that is the folder above the one to which the link leads, and not above the link.
    """
    try:
        place = Path(path).expanduser().absolute()
    except RuntimeError:
        place = Path(path).absolute()
    if ".." not in place.parts:
        return place
    plain, real = Path(os.path.normpath(place)), Path(os.path.realpath(place))
    return plain if os.path.realpath(plain) == str(real) else real


def skill_folder(path: Path) -> Path:
    """Return the folder of a skill whose SKILL.md is named; other paths as they are."""
    return path.parent if is_skill_file(path.name) and path.is_file() else path
