"""Folders of this machine in the files of a project, which are cloned to other machines."""

import os
from pathlib import Path

import msgspec

from registry.domain.origins import LocalOrigin, Origin


def portable(origin: Origin, project: Path) -> Origin:
    """Return an origin as the files in the folder `project` name it: an absolute path below it becomes relative.

    The path begins with `./`, so that it is neither an id nor the folder of a skill in a lock.
    """
    if not isinstance(origin, LocalOrigin) or not Path(origin.path).is_absolute():
        return origin
    path = _below(Path(origin.path), project) or _below(Path(origin.path).resolve(), project.resolve())
    return origin if path is None else msgspec.structs.replace(origin, path=f"./{path}")


def located(origin: Origin, project: Path) -> Origin:
    """Return an origin that a file in the folder `project` names, with its path from the root of this machine."""
    if not isinstance(origin, LocalOrigin):
        return origin
    return msgspec.structs.replace(origin, path=os.path.normpath(project / origin.path))


def _below(path: Path, folder: Path) -> str | None:
    path = Path(os.path.normpath(path))
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) and path != folder else None
