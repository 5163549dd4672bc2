"""Creates, changes and removes skill folders atomically: a crash leaves the old state or the new one."""

import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from registry.parsing.frontmatter_edit import patch, render, with_body
from registry.parsing.text_encoding import encoding_of, with_line_feeds
from registry.parsing.yaml_text import Value
from registry.runtime.atomic_files import TEMPORARY_PREFIX, replace_file, sync_folder, temporary_path, write_new
from registry.skill_folder.placing import copy_folder, restore_replaced
from registry.skill_folder.reading import UnreadableSkill
from registry.skill_folder.tree import SKILL_FILE, find_skill_file, find_skill_folders

_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class StagedSkill(NamedTuple):
    """A new skill's folder under a temporary name, which no scan reads, and the content of its SKILL.md."""

    folder: Path
    data: bytes

    @classmethod
    def of(cls, place: Path, fields: Mapping[str, Value], body: str) -> "StagedSkill":
        """Return a skill of these fields and this body, to be written in `place`."""
        return cls(temporary_path(place), render(fields, body).encode())

    def write(self) -> os.stat_result:
        """Write the folder durably, so that `placing_skill_folder` can move it; return the state of its SKILL.md.

        Raises FileExistsError, OSError.
        """
        self.folder.mkdir(parents=True)
        try:
            state = write_new(self.folder / SKILL_FILE, self.data, 0o644)
            sync_folder(self.folder)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return state


def remove_staged(staged: Iterable[StagedSkill]) -> None:
    """Remove the staged skills that were not moved into place."""
    for skill in staged:
        if os.path.lexists(skill.folder):
            shutil.rmtree(skill.folder, ignore_errors=True)  # `remove_leftovers` removes the rest


def staging_place(root: Path, beside: Path) -> Path:
    """Return the folder in which to stage skills for `root`: `beside` it, or else `root` itself.

    A watcher of `root` follows what is staged there, and forgets a folder that moves in a time that grows with the
    number of skills. But it is `root` where folders cannot move from `beside`, or would inherit another owner, mode,
    access list or label.
    """
    if sys.platform != "linux":
        return root
    probes = (temporary_path(beside), temporary_path(root))
    moved = temporary_path(root)
    try:
        for probe in probes:
            probe.mkdir(parents=True)
        is_alike = _inherited(probes[0]) == _inherited(probes[1])
        probes[0].rename(moved)
        return beside if is_alike else root
    except OSError:
        return root
    finally:
        for folder in (*probes, moved):
            with suppress(OSError):
                folder.rmdir()


def _inherited(folder: Path) -> tuple[Any, ...]:
    """Return what a new folder has from its parent. Raises OSError."""
    status = folder.stat()
    attributes = [(name, os.getxattr(folder, name)) for name in sorted(os.listxattr(folder))]
    return status.st_uid, status.st_gid, status.st_mode, attributes


def write_skill_folder(parent: Path, name: str, fields: Mapping[str, Value], body: str) -> Path:
    """Create the folder `name` with a SKILL.md of these fields and this body durably, and return it.

    Raises FileExistsError if `name` exists, ValueError if it is not a valid folder name, OSError.
    """
    if not _FOLDER_NAME.fullmatch(name):
        raise ValueError(f"'{name}' is not a valid name of a skill's folder")
    folder = parent / name
    StagedSkill(folder, render(fields, body).encode()).write()
    return folder


def update_skill_file(folder: Path, changes: Mapping[str, Value | None], body: str | None = None) -> None:
    """Change fields of the SKILL.md's front matter (see `frontmatter_edit.patch`) and, if given, its body.

    All other bytes of the file stay the same. Raises FrontMatterError, UnreadableSkill, OSError.
    """
    path = _skill_file(folder)
    if not path.is_relative_to(os.path.realpath(folder)):
        raise UnreadableSkill(folder, f"{SKILL_FILE} is a link to a file outside of the folder")
    data = path.read_bytes()
    encoding = encoding_of(data)
    errors = "surrogateescape" if encoding == "utf-8" else "strict"
    try:
        before = data.decode(encoding, errors)
    except UnicodeDecodeError:
        raise UnreadableSkill(folder, f"{SKILL_FILE} is not valid {encoding.upper()}: save it as UTF-8") from None
    if "\r" in before and "\n" not in before:
        before = with_line_feeds(before)
    after = patch(before, changes)
    if body is not None:
        after = with_body(after, body)
    if after == before:
        return
    replace_file(path, after.encode(encoding, errors), stat.S_IMODE(path.stat().st_mode))


def _skill_file(folder: Path) -> Path:
    """Return the real path of the SKILL.md, also if its name has another case. Raises OSError."""
    return Path(os.path.realpath(find_skill_file(folder) or folder / SKILL_FILE))


@contextmanager
def restoring_skill_file(folder: Path) -> Iterator[None]:
    """Restore the SKILL.md if the block, or the commit at its end, fails. Raises OSError."""
    path = _skill_file(folder)
    before, mode = path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
    try:
        yield
    except BaseException:
        if path.read_bytes() != before:
            replace_file(path, before, mode)
        raise


def remove_skill_folder(root: Path, folder: Path) -> None:
    """Remove a skill's folder; for a link in `root` only the link. Raises the errors of `removing_skill_folder`."""
    with removing_skill_folder(root, folder):
        pass


@contextmanager
def removing_skill_folder(root: Path, folder: Path, keep: Path | None = None) -> Iterator[None]:
    """Remove a skill's folder, for a link in `root` only the link; restore it if the block fails.

    It moves to `keep`, also in another file system; without `keep` it is deleted. Raises ValueError if the folder is
    outside of `root`, FileNotFoundError, OSError.
    """
    is_link = folder.is_symlink() and folder.parent == root
    source = folder if is_link else _removable(root, folder)
    trash = keep or temporary_path(root, "trash-")
    try:
        source.rename(trash)
    except OSError as error:
        if keep is None or error.errno != errno.EXDEV:
            raise
        copy_folder(source, keep)
        trash = temporary_path(root, "trash-")
        source.rename(trash)
    sync_folder(source.parent)
    try:
        yield
    except BaseException:
        trash.rename(source)
        if keep is not None and trash != keep:
            _remove(keep)
        raise
    if trash != keep:
        _remove(trash)  # `remove_leftovers` removes the rest


def _remove(path: Path) -> None:
    if path.is_symlink():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def _removable(root: Path, folder: Path) -> Path:
    resolved_root, target = root.resolve(), folder.resolve(strict=True)
    if target == resolved_root or not target.is_relative_to(resolved_root):
        raise ValueError("the skill's folder is outside of the skills directory")
    if find_skill_file(target) is None:
        raise FileNotFoundError(f"the folder has no {SKILL_FILE}")
    return target


def remove_leftovers(root: Path, staging: Path) -> None:
    """Remove temporary files and folders after a crash, and restore folders that were being replaced.

    Only one process may use `root` and `staging`.
    """
    restore_replaced(root)
    for folder in (staging, root, *find_skill_folders(root)):
        for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
            if leftover.is_dir() and not leftover.is_symlink():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)
