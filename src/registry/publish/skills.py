"""Published skills behind the catalog routes: readable like others, changed only by publishing and yanking."""

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import Any

from registry.catalog.conditions import NO_CONDITIONS, Conditions
from registry.catalog.skill_backend import SkillFile
from registry.catalog.skill_changes import with_fields
from registry.catalog.store import Catalog, StoredSkill
from registry.db import Transaction
from registry.domain.models import Skill
from registry.errors import conflict, not_found
from registry.publish.published import PublishedVersions
from registry.publish.published_version import PublishedVersion
from registry.publish.stored_packages import StoredPackages
from registry.skill_folder import FileEntry


class PublishedSkills:
    """The backend of published skills. Outside of registry mode there are no `packages`."""

    def __init__(self, catalog: Catalog, published: PublishedVersions, packages: StoredPackages | None) -> None:
        self._catalog = catalog
        self._published = published
        self._packages = packages

    def update(self, skill_id: str, sent: Mapping[str, Any], conditions: Conditions = NO_CONDITIONS) -> Skill:
        """Enable or disable a skill. Other changes need a new version.

        Raises CONFLICT, FORBIDDEN, PRECONDITION_FAILED.
        """
        if set(sent) != {"enabled"}:
            raise conflict(f"Skill '{skill_id}' is published: publish a new version to change it")
        with self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, conditions)
            return self._catalog.save(transaction, with_fields(stored.skill, sent), self._catalog.body(skill_id))

    def delete(self, skill_id: str, conditions: Conditions = NO_CONDITIONS) -> None:
        """Yank every version. Raises SKILL_NOT_FOUND, FORBIDDEN, PRECONDITION_FAILED."""
        self._published.set_state(skill_id, None, "yanked", conditions)

    def set_version(self, transaction: Transaction, undo: ExitStack, stored: StoredSkill, version: str) -> None:
        """Raise CONFLICT: versions of a published skill come from packages only."""
        raise conflict(f"Skill '{stored.skill.id}' is published: publish a package to add a version")

    def files(self, skill_id: str) -> list[FileEntry]:
        """Return the files of the current version. Raises SKILL_NOT_FOUND."""
        return [FileEntry(path, size) for path, size in self._current(skill_id).record.files]

    def file(self, skill_id: str, path: str) -> SkillFile:
        """Open a file of the current version's package. Raises SKILL_NOT_FOUND, NOT_FOUND, SERVICE_UNAVAILABLE."""
        current = self._current(skill_id)
        size = dict(current.record.files).get(path)
        if size is None or self._packages is None:
            raise not_found(f"File of skill '{skill_id}'")
        return SkillFile(
            name=path.rpartition("/")[2],
            size=size,
            modified_at=datetime.fromisoformat(current.published_at).timestamp(),
            etag=f'"{current.checksum}"',
            content=self._packages.open_file(current, path),
        )

    def text(self, skill_id: str) -> str:
        """Return the SKILL.md of the current version. Raises SKILL_NOT_FOUND."""
        return self._current(skill_id).skill_file

    def _current(self, skill_id: str) -> PublishedVersion:
        return self._published.find(skill_id, self._catalog.get(skill_id).version)
