"""What is installed, as the entries of `skills.lock`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from registry.catalog import Catalog, Stored
from registry.lock_file import LockedSkill, LockFileError
from registry.manifest import Manifest
from registry.origins import LocalOrigin
from registry.skill_folder import UnreadableSkill, read_skill_folder


def locked_skills(
    catalog: Catalog, skills_dir: Path, manifest: Manifest | None, before: Iterable[LockedSkill]
) -> Iterator[LockedSkill]:
    """Yield the installed skills as their folders are now; `before` are the entries of the lock there is.

    An origin is the manifest's, else, for a skill that has not changed since, that of `before`, else its folder; a
    commit is known only as long as skill and origin stay the same. Raises LockFileError for what cannot be read.
    """
    known = {(entry.id, entry.sha256): entry for entry in before}
    wanted = manifest.dependencies if manifest else {}
    for stored in catalog.installed():
        entry = _locked(stored, skills_dir)
        earlier = known.get((entry.id, entry.sha256), entry)
        named = wanted[entry.id].origin if entry.id in wanted else None
        origin = named or earlier.origin
        commit = earlier.commit if origin == earlier.origin else None
        yield msgspec.structs.replace(entry, origin=origin, commit=commit)


def _locked(stored: Stored, skills_dir: Path) -> LockedSkill:
    place = str(stored.folder)
    try:
        read = read_skill_folder(skills_dir / place)
    except (OSError, UnreadableSkill) as error:
        reason = error.reason if isinstance(error, UnreadableSkill) else error.strerror
        raise LockFileError(f"skill {stored.skill.id} cannot be locked: {reason}") from None
    if read.digest is None:
        raise LockFileError(f"skill {stored.skill.id} cannot be locked: not every file can be read")
    return LockedSkill(
        id=stored.skill.id,
        version=read.version,
        path=place,
        origin=LocalOrigin(path=place),
        sha256=read.digest.removeprefix("sha256:"),
    )
