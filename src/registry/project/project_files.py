"""Updates the manifest and the lock of the project after installations."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from registry.catalog.installs import find_install
from registry.catalog.store import Catalog
from registry.config.settings import Settings
from registry.domain.origins import Origin
from registry.domain.version_requirement import admits, is_exact
from registry.errors import RegistryError, conflict
from registry.project.local_paths import located
from registry.project.lock_entries import locked_skill, locked_skills
from registry.project.lock_file import LOCK_FILE, LockedSkill, LockFileError, read_lock, write_lock
from registry.project.manifest import Dependency, without_version
from registry.project.manifest_file import DependencyChanges, ManifestFile, NewDependency
from registry.runtime.atomic_files import only_writer

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
        """Check, before an installation, that both files are valid. Raises VALIDATION_ERROR, CONFLICT."""
        if self._is_enabled:
            self._manifest.read()
            self._read_lock()

    def names_of(self, skill_id: str) -> list[str]:
        """Return the ids by which the manifest may name an installed skill: its own, and that in its source."""
        install = find_install(self._catalog.database, skill_id)
        return [skill_id] if install is None or install.listed is None else [skill_id, install.listed]

    def required_version(self, skill_id: str) -> str | None:
        """Return the version or range that the manifest requires of a skill, if any. Raises VALIDATION_ERROR."""
        _, dependency = self._dependency(skill_id) if self._is_enabled else (skill_id, None)
        return dependency.version if dependency else None

    def _dependency(self, skill_id: str) -> tuple[str, Dependency | None]:
        """Return how the manifest names an installed skill, and its entry, if there is one."""
        manifest = self._manifest.read()
        name = manifest.name_of(self.names_of(skill_id)) if manifest else None
        return (name, manifest.dependencies[name]) if manifest and name else (skill_id, None)

    def record_install(self, skill_id: str, origin: Origin | None) -> list[str]:
        """Record an installed skill; without an `origin`, only in the lock. Return the failures as texts."""
        if not self._is_enabled:
            return []
        problems = []
        try:
            if origin is not None and self._manifest.path.exists():
                self._put_in_manifest(skill_id, origin)
        except RegistryError as error:
            problems.append(f"it could not be added to the manifest: {error.message}")
        return problems + self.update_lock(skill_id)

    def _put_in_manifest(self, skill_id: str, origin: Origin) -> None:
        name, known = self._dependency(skill_id)
        if known is None:
            self._manifest.add(NewDependency(skill_id=skill_id, origin=origin))
        elif known.origin is None or self._located(known.origin) != self._located(origin):
            self._manifest.change(name, DependencyChanges(origin=origin))
        if version := getattr(origin, "version", None) or self._catalog.installed_version(skill_id):
            self._admit(skill_id, version)

    def _located(self, origin: Origin) -> Origin | None:
        return without_version(located(origin, self._manifest.folder))

    def _admit(self, skill_id: str, version: str) -> None:
        """Have the manifest require a version or range. A version that its entry admits changes nothing."""
        name, known = self._dependency(skill_id)
        if known and known.version != version and not (is_exact(version) and admits(known.version, version)):
            self._manifest.change(name, DependencyChanges(version=version))

    def record_upgrade(self, skill_id: str, version: str) -> None:
        """Record the installed version; in the manifest only if what it requires does not admit the version."""
        if not self._is_enabled:
            return
        try:
            self._admit(skill_id, version)
        except RegistryError as error:
            _log.warning("cannot write version %s of skill %s to the manifest: %s", version, skill_id, error)
        self.update_lock(skill_id)

    def record_removal(self, skill_id: str, names: Sequence[str]) -> None:
        """Remove a skill, which had these `names_of`, from both files. A failure is logged."""
        if self._is_enabled:
            self._manifest.discard(names)
            self.update_lock(skill_id)

    def update_lock(self, skill_id: str) -> list[str]:
        """Update the lock entry of one skill to its installed state; return the failures as texts.

        The entries of other skills stay, since a lock that follows every change would protect nothing.
        """
        if not self._is_enabled or not (self._lock.exists() or self._manifest.path.exists()):
            return []
        try:
            with only_writer(self._lock):
                write_lock(self._lock, self._entries(skill_id), locked=True)
        except (RegistryError, LockFileError, OSError) as error:
            reason = error.strerror or "another process is writing it" if isinstance(error, OSError) else str(error)
            _log.warning("%s may be outdated for skill %s: %s", LOCK_FILE, skill_id, reason)
            return [f"{LOCK_FILE} is not up to date: {reason}"]
        return []

    def _entries(self, skill_id: str) -> list[LockedSkill]:
        manifest = self._manifest.read()
        if not self._lock.exists():
            return list(locked_skills(self._catalog, self._settings, manifest, ()))
        entries = read_lock(self._lock)
        others = [entry for entry in entries if entry.id != skill_id]
        stored = next((stored for stored in self._catalog.installed() if stored.skill.id == skill_id), None)
        if stored is None:
            return others
        return [*others, locked_skill(self._catalog, stored, self._settings, manifest, entries)]

    def _read_lock(self) -> None:
        try:
            if self._lock.exists():
                read_lock(self._lock)
        except LockFileError as error:
            raise conflict(str(error)) from None
