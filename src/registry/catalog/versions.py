"""The versions of a skill: the highest that is added becomes the current one."""

from collections.abc import Callable
from contextlib import ExitStack

from registry.catalog.store import Catalog, StoredSkill
from registry.db import Transaction
from registry.domain.models import NewVersion, SkillVersion, version_parts
from registry.errors import conflict, skill_not_found

SetVersion = Callable[[Transaction, ExitStack, StoredSkill, str], None]
"""Makes a version a skill's current one; what it does beyond the transaction goes onto the stack, to be undone."""


class Versions:
    """Adds and takes away versions. `set_version_of` returns how a stored skill's current version is changed."""

    def __init__(self, catalog: Catalog, set_version_of: Callable[[StoredSkill], SetVersion]) -> None:
        self._catalog = catalog
        self._set_version_of = set_version_of

    def create(self, skill_id: str, new: NewVersion) -> SkillVersion:
        """Add a version; a higher one than the current becomes that. Raises SKILL_NOT_FOUND, CONFLICT."""
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, None)
            if new.version in self._catalog.all_versions(transaction, stored.key):
                raise conflict(f"Skill '{skill_id}' has a version {new.version} already")
            description = new.description or stored.skill.description
            self._catalog.add_version(transaction, stored.key, new.version, description, new.changes)
            if version_parts(new.version) > version_parts(stored.skill.version):
                self._set_version_of(stored)(transaction, undo, stored, new.version)
        return self._catalog.version(skill_id, new.version)

    def delete(self, skill_id: str, version: str) -> None:
        """Take a version away; the highest left takes the place of the current one.

        Raises SKILL_NOT_FOUND, CONFLICT for the last version there is.
        """
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, None)
            left = self._catalog.all_versions(transaction, stored.key)
            if version not in left:
                raise skill_not_found(skill_id, version)
            left.remove(version)
            if not left:
                raise conflict(f"Version {version} is the last one of skill '{skill_id}': delete the skill instead")
            self._catalog.delete_version(transaction, stored.key, version)
            if version in (stored.skill.version, stored.skill.latest_version):
                current = left[0] if version == stored.skill.version else stored.skill.version
                self._set_version_of(stored)(transaction, undo, stored, current)
