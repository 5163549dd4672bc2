"""A data directory opened in the process of a command."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from registry.answers import SearchBody, search_data, status_data
from registry.errors import RegistryError
from registry.install_request import SkillRequest, wanted
from registry.project import generate_mdc
from registry.services import Services
from registry.sources.entry import SourceEntry
from registry.target import Answer, CommandFailed, Progress
from registry.upgrading import UpgradeBody


class InProcess:
    """A data directory opened in this process."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def search(self, body: SearchBody) -> Answer:
        """Search."""
        answer: Answer = self._answer(lambda: search_data(self.services, body).data)
        return answer

    def reindex(self, skill_id: str | None, *, force: bool, progress: Progress) -> Answer:
        """Reindex one skill or all, saying how far it is."""
        keys = [skill_id] if skill_id else None
        answer: Answer = self._answer(lambda: self.services.reindexing.run(keys, force=force, progress=progress))
        return answer

    def status(self) -> Answer:
        """Return how the service is."""
        answer: Answer = self._answer(lambda: status_data(self.services))
        return answer

    def sources(self) -> list[Answer]:
        """Return the sources."""
        found: list[Answer] = self._answer(self.services.sources.list)
        return found

    def add_source(self, source: SourceEntry) -> Answer:
        """Add a source and return it."""
        answer: Answer = self._answer(lambda: self.services.sources.add(source))
        return answer

    def remove_source(self, name: str) -> Answer:
        """Remove a source."""
        self._answer(lambda: self.services.sources.remove(name))
        return {"name": name, "message": f"Source '{name}' removed"}

    def refresh_sources(self) -> list[Answer]:
        """Read every source anew and return the sources."""
        self._answer(self.services.sources.refresh)
        return self.sources()

    def install(self, body: SkillRequest) -> Answer:
        """Install a skill and return it."""
        what = wanted(body, self.services.settings.profile)
        if what is None:
            raise CommandFailed("nothing says where the skill is installed from")
        self.services.sources.read_new()
        with self._telling_webhooks():
            answer: Answer = self._answer(lambda: self.services.installer.install(what))
        return answer

    def uninstall(self, skill_id: str) -> Answer:
        """Remove a skill."""
        self._answer(lambda: self.services.homes.of(skill_id).delete(skill_id, None))
        self._answer(lambda: self.services.project.removed(skill_id))
        return {"id": skill_id}

    def upgrade(self, body: UpgradeBody, progress: Progress) -> Answer:
        """Upgrade one skill or all, saying how far it is."""
        with self._telling_webhooks():
            answer: Answer = self._answer(lambda: self.services.upgrader.run(body, progress))
        return answer

    def generate_mdc(self) -> Answer:
        """Write the project's rule file for editors, of the skills directory as it is."""
        self.services.scan()
        answer: Answer = self._answer(lambda: generate_mdc(self.services, write=True))
        return answer

    @contextmanager
    def _telling_webhooks(self) -> Iterator[None]:
        """Send what the block leaves to be told, where no other process does."""
        try:
            yield
        finally:
            if self.services.database.lead():
                self.services.webhooks.send()

    @staticmethod
    def _answer(call: Callable[[], object]) -> Any:
        try:
            return msgspec.json.decode(msgspec.json.encode(call()))
        except RegistryError as error:
            raise CommandFailed(error.message) from None
