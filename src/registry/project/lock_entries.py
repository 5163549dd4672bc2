"""What is installed, as the entries of `skills.lock`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from registry.catalog.installs import find_install
from registry.catalog.store import Catalog, Stored
from registry.domain.origins import LocalOrigin
from registry.project.lock_file import LockedSkill, LockFileError
from registry.project.manifest import Manifest
from registry.skill_folder import UnreadableSkill, read_skill_folder


def locked_skills(
    catalog: Catalog, skills_dir: Path, manifest: Manifest | None, before: Iterable[LockedSkill]
) -> Iterator[LockedSkill]:
    """Yield the installed skills as their folders are now; `before` are the entries of the lock there is.

    Raises LockFileError for what cannot be read.
    """
    known = list(before)
    for stored in catalog.installed():
        yield locked_skill(catalog, stored, skills_dir, manifest, known)


def locked_skill(
    catalog: Catalog, stored: Stored, skills_dir: Path, manifest: Manifest | None, before: Iterable[LockedSkill]
) -> LockedSkill:
    """Return one installed skill as its folder is now.

    What was installed has the origin and commit it was fetched from, so that it can be had again. Another's origin is
    the manifest's, else, where it has not changed since, that of `before`, else its folder; a commit is known only as
    long as skill and origin stay the same. Raises LockFileError for what cannot be read.
    """
    entry = _locked(stored, skills_dir)
    install = find_install(catalog.database, entry.path)
    if install is not None and install.sha256.removeprefix("sha256:") == entry.sha256:
        return msgspec.structs.replace(entry, origin=install.origin, commit=install.commit)
    same = (one for one in before if (one.id, one.sha256) == (entry.id, entry.sha256))
    earlier = next(same, entry)
    named = manifest.dependencies[entry.id].origin if manifest and entry.id in manifest.dependencies else None
    origin = named or earlier.origin
    commit = earlier.commit if origin == earlier.origin else None
    return msgspec.structs.replace(entry, origin=origin, commit=commit)


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
