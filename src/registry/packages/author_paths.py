"""The skills at the paths that an author names."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from registry.skill_folder import find_skill_folders, has_skill_file


def skills_at(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the skill folders and zips at some paths, each once.

    A folder stands for itself if it is a skill, else for the skills in it. A file stands for the skill that it is in.
    A path without a skill is yielded itself, unless it is a file within no skill.
    """
    seen: set[Path] = set()
    for path in paths:
        for folder in _skills_at(path):
            if (real := folder.resolve()) not in seen:
                seen.add(real)
                yield folder


def _skills_at(path: Path) -> Iterator[Path]:
    if path.is_file():
        if path.suffix in (".zip", ".skill"):
            yield path
            return
        folder = next((parent for parent in path.absolute().parents if has_skill_file(parent)), None)
        if folder is not None:
            yield _relative(folder)
        return
    below = [path] if has_skill_file(path) else list(find_skill_folders(path))
    yield from below or [path]


def _relative(folder: Path) -> Path:
    """Return a folder as seen from the current one, if it is below it."""
    current = Path.cwd()
    return folder.relative_to(current) if folder.is_relative_to(current) else folder
