"""Tells changes of the skills directory that the service has made, and recorded, from those of others.

Each write of the service changes the directory, and the watcher hears of it. To read all folders again after each would
take longer than the write: 0.1 ms for every skill there is.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from registry.catalog.folder_state import scan_fingerprint
from registry.catalog.store import Catalog
from registry.runtime.atomic_files import TEMPORARY_PREFIX

_DEPTH = 2  # a folder in the skills directory, and a file of it


def all_recorded(catalog: Catalog, root: Path, changed: Iterable[str]) -> bool:
    """Return whether the catalog has everything that changed at these paths, so that a scan would find nothing.

    False means that it may lack something, which only a scan can tell.
    """
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
    try:
        return all(_is_recorded(catalog, root, name) for name in names)
    except (OSError, UnicodeEncodeError):  # a name that is not UTF-8 has no row
        return False


def _is_recorded(catalog: Catalog, root: Path, name: str) -> bool:
    folder = root / name
    if not os.path.lexists(folder):
        sql = "select 1 from skills where folder = ? or (folder > ? and folder < ?) limit 1"
        return not catalog.database.read(sql, (name, f"{name}/", f"{name}0"))  # '0' comes after '/'
    rows = catalog.database.read("select fingerprint from skills where folder = ?", (name,))
    if not rows or folder.is_symlink() or rows[0][0] != scan_fingerprint(folder):
        return False
    with os.scandir(folder) as entries:  # a folder in it may hold another skill
        return not any(entry.is_dir() for entry in entries)
