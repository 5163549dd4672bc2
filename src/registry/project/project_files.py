"""The project's manifest and lock kept true to what is installed, where there are any."""

import logging

from registry.catalog.store import Catalog
from registry.config.settings import Settings
from registry.domain.origins import Origin
from registry.errors import RegistryError, conflict
from registry.project.lock_entries import locked_skill, locked_skills
from registry.project.lock_file import LOCK_FILE, LockedSkill, LockFileError, read_lock, write_lock
from registry.project.manifest import without_said
from registry.project.manifest_file import DependencyChanges, ManifestFile, NewDependency
from registry.runtime.atomic_files import only_writer

_log = logging.getLogger("registry.project")


class ProjectFiles:
    """Writes installations down in `skill-project.toml`, where there is one, and in `skills.lock`, where either is.

    Only in the local profile: a registry serves many projects and belongs to none.
    """

    def __init__(self, settings: Settings, manifest: ManifestFile, catalog: Catalog) -> None:
        self._manifest = manifest
        self._catalog = catalog
        self._skills_dir = settings.skills_dir
        self._lock = settings.project.file.with_name(LOCK_FILE)
        self._kept = settings.profile == "local"

    def check(self) -> None:
        """Raise, before anything is installed, what keeps the files from being written: VALIDATION_ERROR, CONFLICT."""
        if self._kept:
            self._manifest.read()
            self._read_lock()

    def wanted_version(self, skill_id: str) -> str | None:
        """Return the version the manifest wants of a skill, if it says one. Raises VALIDATION_ERROR."""
        manifest = self._manifest.read() if self._kept else None
        entry = manifest.dependencies.get(skill_id) if manifest else None
        return entry.version if entry else None

    def installed(self, skill_id: str, origin: Origin | None) -> list[str]:
        """Write down that a skill is installed; without an `origin` only in the lock. Return what did not succeed."""
        if not self._kept:
            return []
        problems = []
        try:
            if origin is not None:
                self._put_in_manifest(skill_id, origin)
        except RegistryError as error:
            problems.append(f"the manifest does not name it: {error.message}")
        return problems + self.relock(skill_id)

    def _put_in_manifest(self, skill_id: str, origin: Origin) -> None:
        manifest = self._manifest.read()
        if manifest is None:
            return
        new = NewDependency(skill_id=skill_id, origin=origin)
        if skill_id not in manifest.dependencies:
            self._manifest.add(new)
        elif manifest.dependencies[skill_id].origin != without_said(origin):
            self._manifest.change(skill_id, DependencyChanges(origin=origin))

    def upgraded(self, skill_id: str, version: str) -> None:
        """Write down which version is installed now, in the manifest only where that says one."""
        try:
            if self.wanted_version(skill_id) not in (None, version):
                self._manifest.change(skill_id, DependencyChanges(version=version))
        except RegistryError as error:
            _log.warning("the manifest does not say version %s of skill %s: %s", version, skill_id, error)
        self.relock(skill_id)

    def removed(self, skill_id: str) -> None:
        """Take a skill out of both files; where that does not succeed, the log says so."""
        if self._kept:
            self._manifest.discard(skill_id)
            self.relock(skill_id)

    def relock(self, skill_id: str) -> list[str]:
        """Make the lock say of one skill what is installed; return why where that does not succeed.

        What it says of others stays as it is: a lock that follows whatever is there would guard nothing.
        """
        if not self._kept or not (self._lock.exists() or self._manifest.path.exists()):
            return []
        try:
            with only_writer(self._lock):
                write_lock(self._lock, self._entries(skill_id), locked=True)
        except (RegistryError, LockFileError, OSError) as error:
            reason = error.strerror or "another process is writing it" if isinstance(error, OSError) else str(error)
            _log.warning("%s may not be true of skill %s: %s", LOCK_FILE, skill_id, reason)
            return [f"{LOCK_FILE} is not up to date: {reason}"]
        return []

    def _entries(self, skill_id: str) -> list[LockedSkill]:
        manifest = self._manifest.read()
        if not self._lock.exists():
            return list(locked_skills(self._catalog, self._skills_dir, manifest, ()))
        before = read_lock(self._lock)
        others = [entry for entry in before if entry.id != skill_id]
        stored = next((one for one in self._catalog.installed() if one.skill.id == skill_id), None)
        if stored is None:
            return others
        return [*others, locked_skill(self._catalog, stored, self._skills_dir, manifest, before)]

    def _read_lock(self) -> None:
        try:
            if self._lock.exists():
                read_lock(self._lock)
        except LockFileError as error:
            raise conflict(f"{error}: repair it, or remove it and write it anew with 'skill-registry lock'") from None
