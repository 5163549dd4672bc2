"""Updates the manifest and the lock of the project after installations."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from registry.catalog.installs import find_install
from registry.catalog.store import Catalog
from registry.config.settings import Settings
from registry.db import Transaction, read_fact
from registry.domain.origins import Origin
from registry.domain.source_entry import registry_of
from registry.domain.version_requirement import admits, is_exact
from registry.errors import RegistryError, conflict
from registry.project.local_paths import located
from registry.project.lock_entries import locked_skill, locked_skills, with_parents
from registry.project.lock_file import LOCK_FILE, LockedSkill, LockFileError, read_lock, write_lock
from registry.project.manifest import Dependency, without_version
from registry.project.manifest_file import DependencyChanges, ManifestFile, NewDependency
from registry.runtime.atomic_files import only_writer

_EXPECTED = "lock expects"
"""The fact with the ids of skills that are being put into place."""

_log = logging.getLogger("registry.project")


class ProjectFiles:
    """Records installations in `skill-project.toml` if it exists, and in `skills.lock` if either file exists.

    It does nothing in the registry profile, since a registry belongs to no project.
    """

    def __init__(self, settings: Settings, manifest: ManifestFile, catalog: Catalog) -> None:
        self._manifest = manifest
        self._catalog = catalog
        self._settings = settings
        self._lock = settings.project.file.with_name(LOCK_FILE)
        self._is_enabled = settings.profile == "local"

    @property
    def folder(self) -> Path:
        """The project's folder."""
        return self._manifest.folder

    def exceptions(self) -> Mapping[str, str]:
        """Return the exceptions of the manifest from the policy of installations. Raises VALIDATION_ERROR."""
        manifest = self._manifest.read()
        return manifest.tool.exceptions if manifest else {}

    def check(self) -> None:
        """Check, before an installation, that both files are valid. Raises VALIDATION_ERROR, CONFLICT.

        The lock gets what an installation has put into place that was killed before it could write the lock.
        """
        if self._is_enabled:
            self._manifest.read()
            self._read_lock()
            if (expected := read_fact(self._catalog.database, _EXPECTED)) is not None:
                self.update_lock(*msgspec.json.decode(expected, type=list[str]))

    def expect(self, transaction: Transaction, skill_ids: Sequence[str]) -> None:
        """Remember, before folders are moved into place, which skills the lock must have afterwards."""
        if self._is_enabled:
            transaction.put_fact(_EXPECTED, msgspec.json.encode(skill_ids).decode())

    def names_of(self, skill_id: str) -> list[str]:
        """Return the ids by which the manifest may name an installed skill: its own, and that in its source."""
        install = find_install(self._catalog.database, skill_id)
        return [skill_id] if install is None or install.listed is None else [skill_id, install.listed]

    def required_version(self, skill_id: str) -> str | None:
        """Return the version or range that the manifest requires of a skill, if any. Raises VALIDATION_ERROR."""
        _, dependency = self._dependency(skill_id) if self._is_enabled else (skill_id, None)
        return dependency.version if dependency else None

    def locked_skills(self) -> list[LockedSkill]:
        """Return the entries of the lock; none if there is no lock. Raises CONFLICT if it is invalid."""
        return self._read_lock() if self._is_enabled else []

    def locked(self, registry: str) -> dict[str, LockedSkill]:
        """Return what the lock has of a registry, by the ids there. Raises CONFLICT if the lock is invalid."""
        return {
            str(getattr(entry.origin, "skill", "")): entry
            for entry in self.locked_skills()
            if registry_of(entry.origin) == registry
        }

    def required_of(self, registry: str) -> dict[str, str]:
        """Return what the manifest requires of skills of a registry, by the ids there. Raises VALIDATION_ERROR."""
        manifest = self._manifest.read() if self._is_enabled else None
        versions = {}
        for name, dependency in manifest.dependencies.items() if manifest else ():
            named = registry_of(dependency.ordered(name))
            if dependency.version is not None and named in (None, registry):
                versions[str(getattr(dependency.origin, "skill", name))] = dependency.version
        return versions

    def _dependency(self, skill_id: str) -> tuple[str, Dependency | None]:
        """Return how the manifest names an installed skill, and its entry, if there is one."""
        manifest = self._manifest.read()
        name = manifest.name_of(self.names_of(skill_id)) if manifest else None
        return (name, manifest.dependencies[name]) if manifest and name else (skill_id, None)

    def record_install(self, skill_id: str, origin: Origin | None, along: Sequence[str] = ()) -> list[str]:
        """Record an installed skill; without an `origin`, only in the lock. Return the failures as texts.

        `along` are the skills that came along with it, which the manifest does not name.
        """
        if not self._is_enabled:
            return []
        problems = []
        try:
            if origin is not None and self._manifest.path.exists():
                self._put_in_manifest(skill_id, origin)
        except RegistryError as error:
            problems.append(f"it could not be added to the manifest: {error.message}")
        return problems + self.update_lock(*along, skill_id)

    def _put_in_manifest(self, skill_id: str, origin: Origin) -> None:
        name, dependency = self._dependency(skill_id)
        if dependency is None:
            self._manifest.add(NewDependency(skill_id=skill_id, origin=origin))
        elif dependency.origin is None or self._located(dependency.origin) != self._located(origin):
            self._manifest.change(name, DependencyChanges(origin=origin))
        if version := getattr(origin, "version", None) or self._catalog.installed_version(skill_id):
            self._admit(skill_id, version)

    def _located(self, origin: Origin) -> Origin | None:
        return without_version(located(origin, self._manifest.folder))

    def _admit(self, skill_id: str, version: str) -> None:
        """Have the manifest require a version or range. A version that its entry admits changes nothing."""
        name, dependency = self._dependency(skill_id)
        if (
            dependency
            and dependency.version != version
            and not (is_exact(version) and admits(dependency.version, version))
        ):
            self._manifest.change(name, DependencyChanges(version=version))

    def record_upgrade(self, skill_id: str, version: str, along: Sequence[str] = ()) -> None:
        """Record the installed version; in the manifest only if what it requires does not admit the version.

        The lock gets what came `along` too.
        """
        if not self._is_enabled:
            return
        try:
            self._admit(skill_id, version)
        except RegistryError as error:
            _log.warning("cannot write version %s of skill %s to the manifest: %s", version, skill_id, error)
        self.update_lock(*along, skill_id)

    def record_removal(self, skill_id: str, names: Sequence[str]) -> tuple[str, Dependency] | None:
        """Remove a skill, which had these `names_of`, from both files. A failure is logged.

        Return the name and the entry that the manifest had of it, if any.
        """
        if not self._is_enabled:
            return None
        removed = self._manifest.discard(names)
        self.update_lock(skill_id)
        return removed

    def record_return(self, skill_id: str, named: tuple[str, Dependency] | None) -> None:
        """Put a skill into both files again, `named` as `record_removal` has returned it. A failure is logged."""
        if not self._is_enabled:
            return
        try:
            if named is not None:
                self._manifest.put_back(*named)
        except (RegistryError, OSError) as error:
            _log.warning("cannot put skill %s back into the manifest: %s", skill_id, error)
        self.update_lock(skill_id)

    def update_lock(self, *skill_ids: str) -> list[str]:
        """Update the lock entries of these skills to their installed state; return the failures as texts.

        The entries of other skills stay, since a lock that follows every change would protect nothing.
        """
        if not self._is_enabled:
            return []
        try:
            if self._lock.exists() or self._manifest.path.exists():
                with only_writer(self._lock):
                    write_lock(self._lock, self._entries(skill_ids), locked=True)
            self._forget_expected()
        except (RegistryError, LockFileError, OSError) as error:
            reason = error.strerror or "another process is writing it" if isinstance(error, OSError) else str(error)
            _log.warning("%s may be outdated for skill %s: %s", LOCK_FILE, ", ".join(skill_ids), reason)
            return [f"{LOCK_FILE} is not up to date: {reason}"]
        return []

    def _forget_expected(self) -> None:
        if read_fact(self._catalog.database, _EXPECTED) is not None:
            with self._catalog.database.write() as transaction:
                transaction.delete_fact(_EXPECTED)

    def _entries(self, skill_ids: Sequence[str]) -> list[LockedSkill]:
        manifest = self._manifest.read()
        if not self._lock.exists():
            return list(locked_skills(self._catalog, self._settings, manifest, ()))
        entries = read_lock(self._lock)
        others = [entry for entry in entries if entry.id not in skill_ids]
        installed = self._catalog.installed()
        changed = [
            locked_skill(self._catalog, stored, self._settings, manifest, entries)
            for stored in installed
            if stored.skill.id in skill_ids
        ]
        return with_parents([*others, *changed], installed)

    def _read_lock(self) -> list[LockedSkill]:
        try:
            return read_lock(self._lock) if self._lock.exists() else []
        except LockFileError as error:
            raise conflict(str(error)) from None
