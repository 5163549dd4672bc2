"""Adopts skills that came with the project itself: their folders are checked in, and the lock says where they are from.

A clone has no install records, and after a pull they are those of the former state. The lock names origin, commit,
release and digest of each skill, so its entry becomes the record. A folder that differs from the lock then counts as
changed since the installation: nothing replaces it unless the user says so.
"""

from pathlib import Path

import msgspec

from registry.catalog.folder_fields import skill_of_folder
from registry.catalog.installs import InstalledRelease, InstallRecord, find_install, put_install, with_install
from registry.catalog.skill_rows import FolderState
from registry.catalog.store import Catalog, StoredSkill
from registry.db import Transaction
from registry.domain.models import timestamp
from registry.domain.origins import LocalOrigin, RegistryOrigin, SourceOrigin
from registry.install.parts import InstallParts
from registry.packages.metadata import installed_metadata
from registry.packages.refusal import PackageRefused
from registry.project.local_paths import located
from registry.project.lock_file import LockedSkill
from registry.skill_folder import SkillFolder, UnreadableSkill, has_digest, read_skill_folder


def adopt_locked(parts: InstallParts) -> None:
    """Give the folders that the lock names the install records that they lack. Raises CONFLICT for an invalid lock.

    A record of other files is replaced only where the folder is exactly what the lock names.
    """
    for entry in parts.project.locked_skills():
        former = find_install(parts.catalog.database, entry.path)
        if entry.is_handmade or _is_current(entry, former):
            continue
        folder = parts.local.root / entry.path
        try:
            if not folder.is_symlink() and (former is None or has_digest(folder, f"sha256:{entry.sha256}")):
                _adopt(parts, entry, folder, former)
        except (PackageRefused, UnreadableSkill, OSError):  # it is missing or unreadable: a scan says so
            continue


def _is_current(entry: LockedSkill, former: InstallRecord | None) -> bool:
    """Return whether a record is that of the locked files, or of an upgrade that a crash has interrupted."""
    if isinstance(entry.origin, LocalOrigin) and entry.origin.editable:
        return True  # the link to its folder leads to another place on each machine
    return former is not None and (former.following is not None or former.sha256 == f"sha256:{entry.sha256}")


def _adopt(parts: InstallParts, entry: LockedSkill, folder: Path, former: InstallRecord | None) -> None:
    record, read = _record(parts, entry, folder, former), read_skill_folder(folder)
    with parts.catalog.database.write() as transaction:
        stored = parts.catalog.find_at(transaction, entry.path)
        if stored is None or stored.fingerprint is None or stored.skill.id != entry.id:
            return
        if find_install(transaction, entry.path) != former:  # another process has installed it meanwhile
            return
        record_in_place(parts.catalog, transaction, stored, read, record)


def record_in_place(
    catalog: Catalog, transaction: Transaction, stored: StoredSkill, read: SkillFolder, record: InstallRecord
) -> None:
    """Give a skill of the catalog, whose folder was read, an install record."""
    path = str(stored.folder)
    skill = skill_of_folder(read, stored.skill.id, stored.skill.enabled, path)
    skill = with_install(msgspec.structs.replace(skill, findings=stored.skill.findings), record)
    put_install(transaction, path, record)
    catalog.save(transaction, skill, read.body, FolderState(path, str(stored.fingerprint)), files=read.files)


def _record(parts: InstallParts, entry: LockedSkill, folder: Path, former: InstallRecord | None) -> InstallRecord:
    """Return the record of what the lock names. As after an installation of it, the manifest decides about upgrades."""
    origin = located(entry.origin, parts.project.folder)
    name = installed_metadata(folder, entry.path).name
    record = InstallRecord(
        origin=origin,
        commit=entry.commit,
        sha256=f"sha256:{entry.sha256}",
        name=None if name == entry.path else name,
        installed_at=timestamp(parts.clock()),
    )
    if isinstance(origin, RegistryOrigin | SourceOrigin):
        origin = msgspec.structs.replace(origin, version=None)
        source = _source(parts, origin)
        release = _release(entry, origin)
        record = msgspec.structs.replace(record, origin=origin, source=source, listed=origin.skill, release=release)
    if former is not None and former.origin == origin:
        record = msgspec.structs.replace(
            record,
            source=former.source,
            listed=former.listed,
            pinned=former.pinned,
            version_range=former.version_range,
        )
    return record


def _source(parts: InstallParts, origin: RegistryOrigin | SourceOrigin) -> str | None:
    if isinstance(origin, SourceOrigin):
        return origin.source
    offer = parts.offers.of_registry(origin.url, origin.skill)
    return offer.source if offer else None


def _release(entry: LockedSkill, origin: RegistryOrigin | SourceOrigin) -> InstalledRelease | None:
    if entry.package is None:
        return None
    return InstalledRelease(skill_id=origin.skill, sha256=f"sha256:{entry.package}", proof=entry.log)
