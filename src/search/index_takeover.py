"""Takes over the index files of another process of the same catalog, which may be writing them.

Files of committed segments never change, so hard links to them are enough. The index sync then applies what the other
process has not yet written to its files.
"""

import logging
import os
import shutil
import tempfile
from pathlib import Path

from search import integrity
from search.inspection import IndexDamaged, lexical_folders, read_lexical_state, read_snapshot_info, vector_snapshots

_log = logging.getLogger("search")

MIN_CHANGES = 1000
"""With fewer missing changes, an index catches up as fast as it takes over files."""

_ATTEMPTS = 3
_PREFIX = "takeover-"


def take_over(other: Path, folder: Path, identity: str) -> bool:
    """Replace the index files in `folder` by links to those in `other` if these are far ahead; return whether it did.

    `identity` is that of keyword indexes of this catalog. No process may use `folder`, which is on the same disk. If
    the files cannot be used, they are left alone, and the indexes are built or catch up as usual.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(f"{_PREFIX}*"):  # of a process that was killed
        shutil.rmtree(leftover, ignore_errors=True)
    reason: Exception | None = None
    for _ in range(_ATTEMPTS):  # a merge or a snapshot of the other process may replace files meanwhile
        if _revision(other, identity) - _revision(folder, identity) < MIN_CHANGES:
            return False
        try:
            with tempfile.TemporaryDirectory(dir=folder, prefix=_PREFIX) as work:
                _link(other, Path(work))
                _replace(folder, Path(work))
        except (OSError, IndexDamaged) as error:
            reason = error
        else:
            return True
    _log.warning("the index files of another process cannot be taken over: %s", reason)
    return False


def _revision(indexes: Path, identity: str) -> int:
    """Return the revision of the keyword index in a folder of index files; 0 if it has none that can be used."""
    for words in lexical_folders(indexes):
        try:
            state = read_lexical_state(words)
        except IndexDamaged:
            return 0
        return state.revision if state.identity == identity else 0
    return 0


def _link(folder: Path, work: Path) -> None:
    """Link the files of all indexes to an empty folder, and check them. Raises OSError, IndexDamaged."""
    for words in lexical_folders(folder):
        integrity.link_tantivy(words, work / words.name)
        read_lexical_state(work / words.name)
    for path in folder.glob("vectors-*"):
        if path.suffix != ".tmp":
            os.link(path, work / path.name)
    for snapshot in vector_snapshots(work):
        read_snapshot_info(snapshot)


def _replace(folder: Path, work: Path) -> None:
    """Move the new files into the place of the old ones. Whatever a crash leaves is built again or catches up."""
    for words in folder.glob("words-*"):
        shutil.rmtree(words)
    if vector_snapshots(work):
        for old in folder.glob("vectors-*"):
            old.unlink()
    for path in work.iterdir():
        path.replace(folder / path.name)
