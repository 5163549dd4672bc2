"""A data directory opened in the process of a command."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from registry.cli.backend import CommandFailed, Data, Progress
from registry.domain.source_entry import SourceEntry
from registry.errors import RegistryError
from registry.install.schemas import SkillRequest, UpgradeBody
from registry.project.overview import generate_mdc
from registry.services.container import Services
from registry.services.schemas import SearchBody
from registry.services.search import search_skills
from registry.services.skills import create_skill, uninstall_skill
from registry.services.status import service_status


class LocalBackend:
    """A data directory opened in this process."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def search(self, body: SearchBody) -> Data:
        """Search."""
        answer: Data = self._answer(lambda: search_skills(self.services, body).data)
        return answer

    def reindex(self, skill_id: str | None, *, force: bool, progress: Progress) -> Data:
        """Reindex one skill or all, saying how far it is."""
        keys = [skill_id] if skill_id else None
        answer: Data = self._answer(lambda: self.services.reindexing.run(keys, force=force, progress=progress))
        return answer

    def status(self) -> Data:
        """Return how the service is."""
        answer: Data = self._answer(lambda: service_status(self.services))
        return answer

    def sources(self) -> list[Data]:
        """Return the sources."""
        found: list[Data] = self._answer(self.services.sources.list)
        return found

    def add_source(self, source: SourceEntry) -> Data:
        """Add a source and return it."""
        answer: Data = self._answer(lambda: self.services.sources.add(source))
        return answer

    def remove_source(self, name: str) -> Data:
        """Remove a source."""
        self._answer(lambda: self.services.sources.remove(name))
        return {"name": name, "message": f"Source '{name}' removed"}

    def refresh_sources(self) -> list[Data]:
        """Read every source anew and return the sources."""
        self._answer(self.services.sources.refresh)
        return self.sources()

    def install(self, body: SkillRequest) -> Data:
        """Install a skill and return it."""
        self.services.sources.read_new()
        with self._telling_webhooks():
            answer: Data = self._answer(lambda: create_skill(self.services, body))
        return answer

    def uninstall(self, skill_id: str) -> Data:
        """Remove a skill."""
        self._answer(lambda: uninstall_skill(self.services, skill_id))
        return {"id": skill_id}

    def upgrade(self, body: UpgradeBody, progress: Progress) -> Data:
        """Upgrade one skill or all, saying how far it is."""
        with self._telling_webhooks():
            answer: Data = self._answer(lambda: self.services.upgrader.run(body, progress))
        return answer

    def generate_mdc(self) -> Data:
        """Write the project's rule file for editors, of the skills directory as it is."""
        services = self.services
        services.scan()
        folder = services.manifest.folder
        answer: Data = self._answer(
            lambda: generate_mdc(services.catalog, services.settings.skills_dir, folder, write=True)
        )
        return answer

    @contextmanager
    def _telling_webhooks(self) -> Iterator[None]:
        """Send what the block leaves to be told, where no other process does."""
        try:
            yield
        finally:
            if self.services.database.lead():
                self.services.webhooks.send_once()

    @staticmethod
    def _answer(call: Callable[[], object]) -> Any:
        try:
            return msgspec.json.decode(msgspec.json.encode(call()))
        except RegistryError as error:
            raise CommandFailed(error.message) from None
