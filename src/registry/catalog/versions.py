"""The versions of a skill. A new version that is higher than the current one becomes the current one."""

from collections.abc import Callable
from contextlib import ExitStack

from registry.catalog.conditions import NO_CONDITIONS, Conditions
from registry.catalog.document_rows import renew_document
from registry.catalog.store import Catalog, StoredSkill
from registry.db import Transaction
from registry.domain.models import NewVersion, SkillVersion, version_parts
from registry.errors import conflict, skill_not_found

SetVersion = Callable[[Transaction, ExitStack, StoredSkill, str], None]
"""Makes a version the current one. The stack undoes changes outside of the transaction."""


class Versions:
    """Creates and deletes versions. `set_version_of` returns the function that sets the current version of a skill."""

    def __init__(self, catalog: Catalog, set_version_of: Callable[[StoredSkill], SetVersion]) -> None:
        self._catalog = catalog
        self._set_version_of = set_version_of

    def create(self, skill_id: str, new: NewVersion, conditions: Conditions = NO_CONDITIONS) -> SkillVersion:
        """Create a version, and make it the current one if it is the highest.

        Raises SKILL_NOT_FOUND, FORBIDDEN or PRECONDITION_FAILED where the skill does not meet the conditions, CONFLICT.
        """
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, conditions)
            if new.version in self._catalog.all_versions(transaction, stored.key):
                raise conflict(f"Version {new.version} of skill '{skill_id}' already exists")
            description = new.description or stored.skill.description
            self._catalog.add_version(transaction, stored.key, new.version, description, new.changes)
            if version_parts(new.version) > version_parts(stored.skill.version):
                self._set_version_of(stored)(transaction, undo, stored, new.version)
            else:
                renew_document(transaction, stored.key)
        return self._catalog.version(skill_id, new.version)

    def delete(self, skill_id: str, version: str, conditions: Conditions = NO_CONDITIONS) -> None:
        """Delete a version. If it is the current one, the highest remaining version becomes the current one.

        Raises SKILL_NOT_FOUND, FORBIDDEN or PRECONDITION_FAILED where the skill does not meet the conditions, and
        CONFLICT for the only version.
        """
        with ExitStack() as undo, self._catalog.database.write() as transaction:
            stored = self._catalog.get_for_update(transaction, skill_id, Conditions(caller=conditions.caller))
            remaining = self._catalog.all_versions(transaction, stored.key)
            if version not in remaining:
                raise skill_not_found(skill_id, version)
            conditions.check_etag(stored.skill)
            remaining.remove(version)
            if not remaining:
                raise conflict(f"Version {version} is the only version of skill '{skill_id}': delete the skill instead")
            self._catalog.delete_version(transaction, stored.key, version)
            if version in (stored.skill.version, stored.skill.latest_version):
                current = remaining[0] if version == stored.skill.version else stored.skill.version
                self._set_version_of(stored)(transaction, undo, stored, current)
            else:
                renew_document(transaction, stored.key)
