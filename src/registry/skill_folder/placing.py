"""Whole skill folders put in place of nothing, or of an older one, so that a crash leaves the one or the other.

What is staged must last already (`atomic_files.sync_tree`): only the moves happen here, while others wait.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from registry.runtime.atomic_files import TEMPORARY_PREFIX, sync_folder

REPLACED_PREFIX = f"{TEMPORARY_PREFIX}replaced-"
"""How the name of a folder begins whose place a newer one is taking; its own name follows."""


@contextmanager
def placing_skill_folder(staged: Path, folder: Path) -> Iterator[None]:
    """Move `staged`, a folder or a link, to `folder` in the same file system; move it back when the block fails.

    Raises FileExistsError when something of that name is there, OSError.
    """
    if os.path.lexists(folder):
        raise FileExistsError(f"the folder '{folder.name}' exists")
    staged.rename(folder)
    sync_folder(folder.parent)
    try:
        yield
    except BaseException:
        folder.rename(staged)
        raise


@contextmanager
def replacing_skill_folder(staged: Path, folder: Path) -> Iterator[None]:
    """Put `staged` in the place of `folder`; put the old one back when the block fails.

    A crash between the two moves is set right by `restore_replaced`. Raises OSError.
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
    shutil.rmtree(old, ignore_errors=True)  # what stays goes with the leftovers


def restore_replaced(root: Path) -> None:
    """Put back each folder below `root` that a crash has left out of its place, with nothing in it."""
    for old in root.glob(f"{REPLACED_PREFIX}*"):
        folder = old.with_name(old.name.removeprefix(REPLACED_PREFIX))
        if not os.path.lexists(folder):
            old.rename(folder)
