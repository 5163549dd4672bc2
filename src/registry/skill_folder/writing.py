"""Skill folders written, changed and removed so that a crash at any moment leaves the old state or the new one."""

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from registry.parsing.frontmatter_edit import patch, render, with_body
from registry.parsing.yaml_text import Value
from registry.runtime.atomic_files import TEMPORARY_PREFIX, replace_file, sync_folder, temporary_path, write_new
from registry.skill_folder.placing import restore_replaced
from registry.skill_folder.reading import UnreadableSkill
from registry.skill_folder.tree import SKILL_FILE, find_skill_folders

_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def write_skill_folder(root: Path, name: str, fields: Mapping[str, Value], body: str) -> Path:
    """Make the folder `name` in `root` with a SKILL.md of these fields and this body, and return it.

    Raises FileExistsError when something of that name is there, ValueError for a name unfit for a folder, OSError.
    """
    if not _FOLDER_NAME.fullmatch(name):
        raise ValueError(f"'{name}' is no name for a skill's folder")
    folder = root / name
    if os.path.lexists(folder):
        raise FileExistsError(f"the folder '{name}' exists")
    temporary = temporary_path(root)
    temporary.mkdir()
    try:
        write_new(temporary / SKILL_FILE, render(fields, body).encode(), 0o644)
        sync_folder(temporary)
        _move_new(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(root)
    return folder


def update_skill_file(folder: Path, changes: Mapping[str, Value | None], body: str | None = None) -> None:
    """Change fields of the SKILL.md's front matter (see `frontmatter_edit.patch`) and, where given, its body.

    Everything else in the file stays byte for byte. Raises FrontMatterError, UnreadableSkill, OSError.
    """
    path = Path(os.path.realpath(folder / SKILL_FILE))
    if not path.is_relative_to(os.path.realpath(folder)):
        raise UnreadableSkill(folder, f"{SKILL_FILE} is a link that leaves the folder")
    before = path.read_bytes().decode("utf-8", "surrogateescape")
    after = patch(before, changes)
    if body is not None:
        after = with_body(after, body)
    if after == before:
        return
    replace_file(path, after.encode("utf-8", "surrogateescape"), stat.S_IMODE(path.stat().st_mode))


@contextmanager
def restoring_skill_file(folder: Path) -> Iterator[None]:
    """Put the SKILL.md back as it was when the block, or a commit that ends it, fails. Raises OSError."""
    path = Path(os.path.realpath(folder / SKILL_FILE))
    before, mode = path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
    try:
        yield
    except BaseException:
        if path.read_bytes() != before:
            replace_file(path, before, mode)
        raise


def remove_skill_folder(root: Path, folder: Path) -> None:
    """Remove a skill's folder; of a link in `root` only the link. Raises as `removing_skill_folder` does."""
    with removing_skill_folder(root, folder):
        pass


@contextmanager
def removing_skill_folder(root: Path, folder: Path) -> Iterator[None]:
    """Take a skill's folder away, of a link in `root` only the link, and bring it back when the block fails.

    Raises ValueError when it lies outside `root` or another skill lies within it, FileNotFoundError, OSError.
    """
    linked = folder.is_symlink() and folder.parent == root
    source = folder if linked else _removable(root, folder)
    trash = temporary_path(root, "trash-")
    source.rename(trash)
    sync_folder(source.parent)
    try:
        yield
    except BaseException:
        trash.rename(source)
        raise
    if linked:
        trash.unlink()
    else:
        shutil.rmtree(trash, ignore_errors=True)  # what stays goes with the leftovers


def _removable(root: Path, folder: Path) -> Path:
    home, target = root.resolve(), folder.resolve(strict=True)
    if target == home or not target.is_relative_to(home):
        raise ValueError("the skill's folder lies outside the skills directory")
    within = next(find_skill_folders(target), None)
    if within is not None:
        raise ValueError(f"another skill lies within its folder: {within.relative_to(target).as_posix()}")
    if not os.path.lexists(target / SKILL_FILE):
        raise FileNotFoundError(f"the folder holds no {SKILL_FILE}")
    return target


def remove_leftovers(root: Path) -> None:
    """Remove what a crash has left of our temporary files and folders, and put back what it left out of its place.

    Only one process may work in `root`.
    """
    restore_replaced(root)
    for folder in (root, *find_skill_folders(root)):
        for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


def _move_new(temporary: Path, folder: Path) -> None:
    try:
        temporary.rename(folder)
    except OSError:
        if os.path.lexists(folder):  # made in between by another process
            raise FileExistsError(f"the folder '{folder.name}' exists") from None
        raise
