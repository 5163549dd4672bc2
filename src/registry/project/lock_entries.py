"""The lock entries of the installed skills."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from registry.catalog.installs import InstallRecord, find_install
from registry.catalog.store import Catalog, StoredSkill
from registry.config.settings import Settings
from registry.domain.dependencies import named_dependencies
from registry.domain.file_names import printable_name
from registry.domain.origins import LocalOrigin
from registry.domain.source_entry import registry_of
from registry.domain.validation import find_errors
from registry.project.local_paths import portable
from registry.project.lock_file import LockedSkill, LockFileError
from registry.project.manifest import Manifest
from registry.skill_folder import UnreadableSkill, read_skill_folder


def locked_skills(
    catalog: Catalog, settings: Settings, manifest: Manifest | None, previous: Iterable[LockedSkill]
) -> Iterator[LockedSkill]:
    """Yield the lock entries of the installed skills in their current state; `previous` are those of the existing lock.

    Raises LockFileError if a skill cannot be read.
    """
    entries, installed = list(previous), catalog.installed()
    new_entries = [locked_skill(catalog, stored, settings, manifest, entries) for stored in installed]
    yield from with_parents(new_entries, installed)


def with_parents(entries: Sequence[LockedSkill], installed: Sequence[StoredSkill]) -> list[LockedSkill]:
    """Return entries of a lock, each with those that need it of the same registry, as their files say."""
    needs = {stored.skill.id: named_dependencies(stored.skill.dependencies) for stored in installed}
    parents: dict[tuple[str | None, str], set[str]] = {}
    for entry in entries:
        for needed in needs.get(entry.id, ()):
            parents.setdefault((registry_of(entry.origin), needed.id), set()).add(entry.id)
    return [msgspec.structs.replace(entry, required_by=sorted(parents.get(_place(entry), ()))) for entry in entries]


def _place(entry: LockedSkill) -> tuple[str | None, str]:
    return registry_of(entry.origin) or entry.path, str(getattr(entry.origin, "skill", ""))


def locked_skill(
    catalog: Catalog,
    stored: StoredSkill,
    settings: Settings,
    manifest: Manifest | None,
    previous: Iterable[LockedSkill],
) -> LockedSkill:
    """Return the lock entry of one installed skill in its current state.

    An installation that is unchanged, or a folder used in place, has the origin and commit it was fetched from.
    Otherwise the origin is the first of: that in the manifest, that in `previous` if the files are unchanged, and the
    folder. The commit and the proof of `previous` stay only if the files and the origin are unchanged. Folders of the
    project are relative to it. Raises LockFileError if the skill cannot be read.
    """
    project = settings.project.file.parent
    entry = _locked(stored, settings.skills_dir)
    install = find_install(catalog.database, entry.path)
    same = (former for former in previous if (former.id, former.sha256) == (entry.id, entry.sha256))
    earlier = _portable(next(same, entry), project)
    if install is not None and (install.editable or install.sha256 == f"sha256:{entry.sha256}"):
        return _with_earlier_proof(_portable(_installed(entry, install), project), earlier)
    declared = manifest.dependencies[entry.id].origin if manifest and entry.id in manifest.dependencies else None
    origin = portable(declared, project) if declared else earlier.origin
    if origin != earlier.origin:
        return msgspec.structs.replace(entry, origin=origin)
    return msgspec.structs.replace(
        entry, origin=origin, commit=earlier.commit, package=earlier.package, log=earlier.log
    )


def _portable(entry: LockedSkill, project: Path) -> LockedSkill:
    return msgspec.structs.replace(entry, origin=portable(entry.origin, project))


def _with_earlier_proof(entry: LockedSkill, earlier: LockedSkill) -> LockedSkill:
    """Return the entry with the proof that the lock has, if that holds for it: a proof stays valid for ever.

    So an installation of what is locked does not change the lock.
    """
    is_proven = earlier.log is not None and entry.log is not None and earlier.log.key == entry.log.key
    same = is_proven and (earlier.package, earlier.logged) == (entry.package, entry.logged)
    return msgspec.structs.replace(entry, log=earlier.log) if same else entry


def _installed(entry: LockedSkill, install: InstallRecord) -> LockedSkill:
    entry = msgspec.structs.replace(entry, origin=install.origin, commit=install.commit)
    if (release := install.release) is None:
        return entry
    return msgspec.structs.replace(entry, package=release.sha256.removeprefix("sha256:"), log=release.proof)


def _locked(stored: StoredSkill, skills_dir: Path) -> LockedSkill:
    path = str(stored.folder)
    try:
        read = read_skill_folder(skills_dir / path)
    except FileNotFoundError:
        reason = f"{skills_dir} has no folder {printable_name(path)}: set --skills-dir as the service"
        raise LockFileError(f"skill {stored.skill.id} cannot be locked: {reason}") from None
    except OSError as error:
        raise LockFileError(f"skill {stored.skill.id} cannot be locked: {error.strerror}") from None
    except UnreadableSkill as error:
        raise LockFileError(f"skill {stored.skill.id} cannot be locked: {error.reason}") from None
    if read.digest is None:
        raise LockFileError(f"skill {stored.skill.id} cannot be locked: some files cannot be read")
    origin = LocalOrigin(path=path)
    if next(find_errors(msgspec.to_builtins(origin), LocalOrigin), None):
        raise LockFileError(f"skill {stored.skill.id} cannot be locked: rename its folder {path!r}, as locks name it")
    return LockedSkill(
        id=stored.skill.id,
        version=read.version,
        path=path,
        origin=origin,
        sha256=read.digest.removeprefix("sha256:"),
    )
