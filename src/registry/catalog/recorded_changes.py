"""Tells changes of the skills directory that the service has made, and recorded, from those of others.

Each write of the service changes the directory, and the watcher hears of it. To read all folders again after each would
take longer than the write: 0.1 ms for every skill there is.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from registry.catalog.folder_state import new_fingerprint, scan_fingerprint
from registry.catalog.store import Catalog
from registry.db import DatabaseError
from registry.runtime.atomic_files import TEMPORARY_PREFIX
from registry.skill_folder.tree import SKILL_FILE

_DEPTH = 2  # a folder in the skills directory, and a file of it
_NAMES_PER_QUERY = 500


def all_recorded(catalog: Catalog, root: Path, changed: Iterable[str]) -> bool:
    """Return whether the catalog has everything that changed at these paths, so that a scan would find nothing.

    False means that it may lack something, which only a scan can tell.
    """
    try:
        return _all_recorded(catalog, root, changed)
    except DatabaseError:  # the scan fails too then, and is tried again
        return False


def _all_recorded(catalog: Catalog, root: Path, changed: Iterable[str]) -> bool:
    if catalog.problems():  # only a scan finds that one is gone
        return False
    names = set()
    within = f"{root}/"
    for path in changed:
        if not path.startswith(within):
            return False
        parts = path.removeprefix(within).split("/")
        if parts[0].startswith(TEMPORARY_PREFIX):
            continue
        if len(parts) > _DEPTH:
            return False
        names.add(parts[0])
    return _have_rows(catalog, root, sorted(names)) or _have_rows_after_writes(catalog, root, sorted(names))


def _have_rows_after_writes(catalog: Catalog, root: Path, names: Sequence[str]) -> bool:
    """Return `_have_rows` after the writes that run now: a folder is in its place before its row is committed."""
    with catalog.database.write():
        pass
    return _have_rows(catalog, root, names)


def _have_rows(catalog: Catalog, root: Path, names: Sequence[str]) -> bool:
    try:
        return all(
            _is_recorded(catalog, root / name, fingerprint)
            for name, fingerprint in _fingerprints(catalog, names).items()
        )
    except (OSError, UnicodeEncodeError):  # a name that is not UTF-8 has no row
        return False


def _fingerprints(catalog: Catalog, names: Sequence[str]) -> dict[str, str | None]:
    """Return what the catalog has as the fingerprints of these folders; None where it has no such folder."""
    fingerprints: dict[str, str | None] = dict.fromkeys(names)
    for first in range(0, len(names), _NAMES_PER_QUERY):
        some = names[first : first + _NAMES_PER_QUERY]
        sql = f"select folder, fingerprint from skills where folder in ({', '.join('?' * len(some))})"
        fingerprints |= dict(catalog.database.read(sql, some))
    return fingerprints


def _is_recorded(catalog: Catalog, folder: Path, fingerprint: str | None) -> bool:
    try:
        is_folder = stat.S_ISDIR(folder.lstat().st_mode)
    except FileNotFoundError:
        below = "select 1 from skills where folder > ? and folder < ? limit 1"  # '0' comes after '/'
        return fingerprint is None and not catalog.database.read(below, (f"{folder.name}/", f"{folder.name}0"))
    if fingerprint is None or not is_folder:
        return False
    with os.scandir(folder) as listing:
        entries = list(listing)
    if any(entry.is_dir() for entry in entries):  # it may hold another skill
        return False
    if [entry.name for entry in entries] == [SKILL_FILE]:
        return fingerprint == new_fingerprint(entries[0].stat(follow_symlinks=False))
    return fingerprint == scan_fingerprint(folder)
