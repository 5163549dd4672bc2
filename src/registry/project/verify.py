"""Compares the skills directory with `skills.lock`, using only files: no server, catalog or network."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from registry.domain.file_names import printable_name
from registry.project.lock_file import LockedSkill
from registry.skill_folder import differs_in_line_ends, find_skill_folders, tree_digest


class Difference(msgspec.Struct, kw_only=True):
    """A folder below the skills directory that differs from the lock; `added` is one without a lock entry."""

    path: str
    kind: Literal["changed", "missing", "added", "unreadable"]
    message: str


def differences(locked: Sequence[LockedSkill], skills_dir: Path) -> list[Difference]:
    """Return the differences of the skills directory from the lock, in order of path."""
    folders = {folder.relative_to(skills_dir).as_posix() for folder in find_skill_folders(skills_dir)}
    added = [
        Difference(path=printable_name(path), kind="added", message="the lock has no entry for this skill")
        for path in folders - {skill.path for skill in locked}
    ]
    return sorted([*added, *_differing(locked, skills_dir)], key=lambda difference: difference.path)


def _differing(locked: Sequence[LockedSkill], skills_dir: Path) -> Iterator[Difference]:
    for skill in locked:
        try:
            sha256 = tree_digest(skills_dir / skill.path).removeprefix("sha256:")
        except (FileNotFoundError, NotADirectoryError):
            yield Difference(path=skill.path, kind="missing", message=f"the folder of {skill.id} is missing")
        except OSError as error:
            reason = f"{skill.id} cannot be read: {error.strerror}"
            yield Difference(path=skill.path, kind="unreadable", message=reason)
        else:
            if sha256 != skill.sha256:
                yield Difference(path=skill.path, kind="changed", message=_change(skill, skills_dir, sha256))


def _change(skill: LockedSkill, skills_dir: Path, sha256: str) -> str:
    """Return in words how the files of a skill, which have this digest, differ from the lock. Raises OSError."""
    if differs_in_line_ends(skills_dir / skill.path, f"sha256:{skill.sha256}"):
        advice = f"write '* -text' into {skills_dir.name}/.gitattributes, and check the folder out again"
        return f"only the line ends of {skill.id} differ, which git changes on some machines: {advice}"
    return f"the files of {skill.id} have sha256 {sha256}, not {skill.sha256}"
