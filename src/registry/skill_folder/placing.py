"""Moves whole skill folders into place, atomically: a crash leaves the old state or the new one.

The staged folder must be durable already (`atomic_files.sync_tree`), because other writers wait during the move.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from registry.runtime.atomic_files import TEMPORARY_PREFIX, sync_folder

REPLACED_PREFIX = f"{TEMPORARY_PREFIX}replaced-"
"""The prefix of the temporary name of a folder that is being replaced; its own name follows."""


@contextmanager
def placing_skill_folder(staged: Path, folder: Path, sync: Callable[[Path], object] = sync_folder) -> Iterator[None]:
    """Move `staged`, a folder or a link, to `folder` in the same file system; move it back when the block fails.

    `sync` is called with the parent of `folder`, whose entries it makes durable, now or later for several folders.
    Raises FileExistsError if `folder` exists, OSError.
    """
    if os.path.lexists(folder):
        raise FileExistsError(f"the folder '{folder.name}' already exists")
    try:
        staged.rename(folder)
    except OSError:
        if os.path.lexists(folder):  # another process has just created it
            raise FileExistsError(f"the folder '{folder.name}' already exists") from None
        raise
    try:
        sync(folder.parent)
        yield
    except BaseException:
        folder.rename(staged)
        raise


@contextmanager
def replacing_skill_folder(staged: Path, folder: Path) -> Iterator[None]:
    """Replace `folder` by `staged`; restore the old folder when the block fails.

    `restore_replaced` repairs a crash between the two moves. Raises OSError.
    """
    old = folder.with_name(f"{REPLACED_PREFIX}{folder.name}")
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)
    try:
        staged.rename(folder)
        try:
            sync_folder(folder.parent)
            yield
        except BaseException:
            folder.rename(staged)
            raise
    except BaseException:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)  # `remove_leftovers` removes the rest


def restore_replaced(root: Path) -> None:
    """Move back each folder in `root` that a crash has left under its temporary name without a replacement."""
    for old in root.glob(f"{REPLACED_PREFIX}*"):
        folder = old.with_name(old.name.removeprefix(REPLACED_PREFIX))
        if not os.path.lexists(folder):
            old.rename(folder)


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder, or a link to one, durably to a new place; what is no file, folder or link is left out.

    Raises OSError; the copy is then removed.
    """
    if source.is_symlink():
        target.symlink_to(source.readlink())
    else:
        try:
            shutil.copytree(source, target, symlinks=True, ignore=_special_files, copy_function=_copy_file)
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise
        for parent, _, _ in os.walk(target):
            sync_folder(Path(parent))
    sync_folder(target.parent)


def _special_files(folder: str, names: list[str]) -> list[str]:
    paths = {name: Path(folder, name) for name in names}
    return [name for name, path in paths.items() if not (path.is_symlink() or path.is_dir() or path.is_file())]


def _copy_file(source: str, target: str) -> str:
    shutil.copy2(source, target, follow_symlinks=False)
    descriptor = os.open(target, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return target
