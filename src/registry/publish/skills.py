"""Published skills behind the catalog routes: readable like others, changed only by publishing and yanking."""

from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path

from registry.catalog.skill_changes import sent_changes, with_fields
from registry.catalog.store import Catalog, StoredSkill
from registry.db import Transaction
from registry.domain.models import Skill, SkillChanges
from registry.errors import conflict, not_found
from registry.publish.published import PublishedVersions
from registry.skill_folder import FileEntry


class PublishedSkills:
    """The backend of published skills."""

    def __init__(self, catalog: Catalog, published: PublishedVersions) -> None:
        self._catalog = catalog
        self._published = published

    def update(self, skill_id: str, changes: SkillChanges, etags: Collection[str] | None) -> Skill:
        """Enable or disable a skill. Other changes need a new version. Raises CONFLICT, PRECONDITION_FAILED."""
        sent = sent_changes(changes, skill_id)
        if set(sent) != {"enabled"}:
            raise conflict(f"Skill '{skill_id}' is published: publish a new version to change it")
        with self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, etags)
            return self._catalog.save(transaction, with_fields(stored.skill, sent), self._catalog.body(skill_id))

    def delete(self, skill_id: str, etags: Collection[str] | None) -> None:
        """Yank every version. Raises SKILL_NOT_FOUND, PRECONDITION_FAILED."""
        with self._catalog.database.write() as transaction:
            self._catalog.get_for_update(transaction, skill_id, etags)
        self._published.set_state(skill_id, None, "yanked")

    def set_version(self, transaction: Transaction, undo: ExitStack, stored: StoredSkill, version: str) -> None:
        """Raise CONFLICT: versions of a published skill come from packages only."""
        raise conflict(f"Skill '{stored.skill.id}' is published: publish a package to add a version")

    def files(self, skill_id: str) -> list[FileEntry]:
        """Return the files of the current version. Raises SKILL_NOT_FOUND."""
        current = self._published.find(skill_id, self._catalog.get(skill_id).version)
        return [FileEntry(path, size) for path, size in current.record.files]

    def file(self, skill_id: str, path: str) -> Path:
        """Raise NOT_FOUND: single files are available only in the package. Raises SKILL_NOT_FOUND."""
        self._catalog.get(skill_id)
        raise not_found(f"File of skill '{skill_id}' outside its package")

    def text(self, skill_id: str) -> str:
        """Return the SKILL.md of the current version. Raises SKILL_NOT_FOUND."""
        return self._published.find(skill_id, self._catalog.get(skill_id).version).skill_file
