"""Chooses the backend of a skill: a folder, a record of the database, or published packages."""

from collections.abc import Sequence

from registry.catalog.local_skills import LocalSkills
from registry.catalog.new_skills import NewSkills
from registry.catalog.record_skills import RecordSkills
from registry.catalog.skill_backend import SkillBackend
from registry.catalog.store import Catalog
from registry.domain.models import NewSkill, Skill
from registry.errors import RegistryError
from registry.publish.published import PublishedVersions
from registry.publish.skills import PublishedSkills
from registry.publish.stored_packages import StoredPackages


class SkillBackends:
    """Knows the backend of every skill.

    Args:
        catalog: Knows every skill.
        local: The skills that are folders.
        records: The skills that are records.
        published: The versions that were ever published.
        packages: Their packages; None outside of registry mode.
        makes_folders: Whether new skills are folders; otherwise they are records.
    """

    def __init__(
        self,
        catalog: Catalog,
        local: LocalSkills,
        records: RecordSkills,
        published: PublishedVersions,
        packages: StoredPackages | None,
        *,
        makes_folders: bool,
    ) -> None:
        self._catalog = catalog
        self._local = local
        self._records = records
        self._published = published
        self._published_skills = PublishedSkills(catalog, published, packages)
        self._makes_folders = makes_folders

    def create_all(self, news: Sequence[NewSkill], scope: str | None) -> list[Skill | RegistryError]:
        """Create skills in one transaction, folders or records of a scope, and return each, or why it was refused.

        The refusals are VALIDATION_ERROR and CONFLICT. They change nothing.
        """
        return self.prepare(news, scope).store()

    def prepare(self, news: Sequence[NewSkill], scope: str | None) -> NewSkills:
        """Do what comes before the transaction of `create_all`."""
        return self._local.prepare(news) if self._makes_folders else self._records.prepare(news, scope)

    def of(self, skill_id: str) -> SkillBackend:
        """Return the backend of this skill. Raises SKILL_NOT_FOUND."""
        is_folder = self._catalog.is_folder(skill_id)
        if self._published.is_published(skill_id):
            return self._published_skills
        return self._local if is_folder else self._records
