"""A catalog in a data directory that this process opens. This module loads the search engine."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from embeddings import EmbeddingUnavailable
from registry.auth.secret import WeakSecret
from registry.catalog.folder_ids import present_id
from registry.catalog.listing import Position, list_cards
from registry.catalog.store import Catalog
from registry.cli import console
from registry.cli.backend import MOST_VERSIONS, CommandFailed, Data, Needs, Progress, Wanted, failed
from registry.cli.credentials import user_access
from registry.cli.server_choice import has_catalog
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import DatabaseUnusable
from registry.domain.agents import RuleFileKind
from registry.domain.models import now
from registry.domain.source_entry import NewSource
from registry.errors import RegistryError
from registry.install.schemas import SkillRequest, UpgradeBody
from registry.project.overview import generate
from registry.protocols.mcp.exchange import answered
from registry.runtime.data_dir import DataDirInUse, DataDirLock
from registry.runtime.private_files import PrivateFileExposed
from registry.services.container import Services
from registry.services.schemas import SearchBody
from registry.services.search import search_skills
from registry.services.skill_batches import Line, create_skills
from registry.services.skill_files import text_of_version
from registry.services.skills import create_skill, list_bin, read_skill, restore_skill, uninstall_skill
from registry.services.status import service_status
from registry.skill_folder import remove_leftovers
from registry.sources.access import NO_ACCESS, RegistryAccess
from registry.sources.fetching import remove_fetched
from registry.transparency.checkpoint import KeyUnusable

_EMBED_SECONDS = 30.0
"""How long a command waits for the vectors of changed skills."""

_PAGE = 100

_READY_SECONDS = 10.0
"""How long it waits for the first scan."""


class LocalBackend:
    """A catalog in a data directory."""

    def __init__(self, services: Services, lock: DataDirLock) -> None:
        self.services = services
        self._lock = lock

    @property
    def server(self) -> str | None:
        """None: there is no server."""
        return None

    def search(self, body: SearchBody) -> Data:
        """Search for skills."""
        answer: Data = self._result(lambda: search_skills(self.services, body).data)
        return answer

    def ids_for(self, body: SearchBody) -> list[str]:
        """Return the ids of the hits of a search for a hint."""
        return [hit["skill"]["id"] for hit in self.search(body)["skills"]]

    def list_skills(self, limit: int | None, wanted: Wanted | None = None) -> tuple[list[Data], int]:
        """Return the cards of the catalog's own or the wanted skills, at most `limit`, and the number of all."""
        if wanted is not None:
            listed = self.services.lists.page(*wanted, limit or sys.maxsize, 0, group=False, facets=False)
            return list(map(msgspec.json.decode, listed.cards)), listed.total
        cards: list[Data] = []
        last: Position | None = None
        while True:
            count = min(_PAGE, (limit or _PAGE + len(cards)) - len(cards))
            page = list_cards(self.services.database, count, 0, None, after=last)
            cards += map(msgspec.json.decode, page.cards)
            last = page.last
            if last is None or len(cards) == limit:
                return cards, page.total

    def skill(self, skill_id: str) -> Data:
        """Return a skill in full."""
        answer: Data = self._result(lambda: read_skill(self.services, self._present(skill_id)))
        return answer

    def content(self, skill_id: str, version: str | None = None) -> str:
        """Return the SKILL.md of a skill: of its current version, or of the one that is named."""
        skill_id = self._present(skill_id)
        if version is None:
            return str(self._result(lambda: self.services.skill_backends.of(skill_id).text(skill_id)))
        return str(self._result(lambda: text_of_version(self.services.skill_files, skill_id, version)))

    def versions(self, skill_id: str) -> list[Data]:
        """Return the versions of a skill that are listed, the newest first."""
        catalog = self.services.catalog
        answer: list[Data] = self._result(lambda: catalog.versions(self._present(skill_id), MOST_VERSIONS, 0)[0])
        return answer

    def version(self, skill_id: str, version: str) -> Data:
        """Return one version of a skill."""
        answer: Data = self._result(lambda: self.services.catalog.version(self._present(skill_id), version))
        return answer

    def reindex(self, skill_id: str | None, *, force: bool, progress: Progress) -> Data:
        """Update the search indexes for one skill or all."""
        keys = [skill_id] if skill_id else None
        answer: Data = self._result(lambda: self.services.reindexing.run(keys, force=force, progress=progress))
        return answer

    def status(self) -> Data:
        """Return the state of the catalog and its indexes."""
        answer: Data = self._result(lambda: service_status(self.services, "admin"))
        return answer

    def sources(self) -> list[Data]:
        """Return the sources."""
        answer: list[Data] = self._result(self.services.sources.list)
        return answer

    def add_source(self, source: NewSource) -> Data:
        """Add a source and return it."""
        answer: Data = self._result(lambda: self.services.sources.add(source))
        return answer

    def remove_source(self, name: str) -> Data:
        """Remove a source."""
        self._result(lambda: self.services.sources.remove(name))
        return {"name": name, "message": f"Source '{name}' removed"}

    def refresh_sources(self, names: Sequence[str] = ()) -> list[Data]:
        """Fetch the sources with these names again, without names every source, and return all sources."""
        self._result(lambda: self.services.sources.refresh(names or None))
        return self.sources()

    def install(self, body: SkillRequest) -> Data:
        """Install a skill and return it."""
        if not body.offline:
            self.services.sources.read_new()
        with self._sending_webhooks():
            answer: Data = self._result(lambda: create_skill(self.services, body))
        return answer

    def create_skills(self, lines: Sequence[bytes]) -> list[CommandFailed | None]:
        """Create a skill from each line of JSON, and return why not, or None, for each of them."""
        numbered = [Line(number, line) for number, line in enumerate(lines, 1)]
        return [_failure(outcome.result) for outcome in create_skills(self.services, numbered)]

    def uninstall(self, skill_id: str, *, cascade: bool) -> Data:
        """Remove a skill, with `cascade` also those that need it."""
        return {
            "id": skill_id,
            "removed": self._result(lambda: uninstall_skill(self.services, skill_id, cascade=cascade)),
        }

    def restore(self, skill_id: str) -> Data:
        """Undo the removal of a skill, and return the skill."""
        restored: Data = self._result(lambda: restore_skill(self.services, skill_id, None))
        return restored

    def bin(self) -> list[Data]:
        """Return the removed skills that can be restored, what was removed last first."""
        entries: list[Data] = self._result(lambda: list_bin(self.services))
        return entries

    def upgrade(self, body: UpgradeBody, progress: Progress) -> Data:
        """Upgrade one skill or all."""
        with self._sending_webhooks():
            answer: Data = self._result(lambda: self.services.upgrader.run(body, progress))
        return answer

    def mcp(self, message: bytes) -> bytes | None:
        """Return the response to a message of the Model Context Protocol, None for a notification."""
        return answered(self.services, message)

    def may_close(self) -> bool:
        """Return whether another process waits for the data directory."""
        return self._lock.is_wanted()

    def generate(self, file: RuleFileKind) -> Data:
        """Scan the skills directory and write a rule file of the project."""
        services = self.services
        services.scan()
        folder = services.manifest.folder
        answer: Data = self._result(
            lambda: generate(services.catalog, services.settings.skills_dir, folder, file, write=True)
        )
        return answer

    def _present(self, skill_id: str) -> str:
        return present_id(self.services.catalog, skill_id)

    @contextmanager
    def _sending_webhooks(self) -> Iterator[None]:
        """Send the webhooks of the block at its end, unless another process sends them."""
        try:
            yield
        finally:
            if self.services.database.lead():
                self.services.webhooks.send_once()

    @staticmethod
    def _result(call: Callable[[], object]) -> Any:
        """Return the result of a call in plain types. Raises CommandFailed."""
        try:
            return msgspec.json.decode(msgspec.json.encode(call()))
        except RegistryError as error:
            raise failed(error) from None


def _failure(result: object) -> CommandFailed | None:
    if isinstance(result, RegistryError):
        return failed(result)
    return CommandFailed(str(result)) if isinstance(result, Exception) else None


@contextmanager
def open_local(settings: Settings, lock: DataDirLock, named: Sequence[str], needs: Needs) -> Iterator[LocalBackend]:
    """Yield the catalog of a locked data directory, and release the lock at the end. Raises CommandFailed.

    `named` are the URLs of registries that the user has named. They may have private addresses, and so may those of the
    user's logins.
    """
    access = user_access(settings, named)
    is_new = not has_catalog(settings)
    with open_services(settings, lock, access) as services:
        watches = needs.watches and settings.profile == "local"
        if needs.creates:
            remove_leftovers(settings.skills_dir, settings.staging_dir)
            remove_fetched(settings.data_dir)
        is_first = is_new and bool(settings.sources)
        if (needs.creates or is_first) and not watches:
            services.scan()
        if is_first and not watches:
            services.sources.read_new()
        if watches:
            services.begin()  # which scans first
            services.ready.wait(_READY_SECONDS)
        elif needs.indexes:
            services.engine.changed()
            if services.database.lead():
                services.engine.start_indexing()
            _embed(services)
            services.ready.set()
        yield LocalBackend(services, lock)


def _embed(services: Services) -> None:
    """Wait for the vectors of changed skills, below a bar if there are some."""
    if not services.engine.status().pending:
        return
    as_json = bool(click.get_current_context().params.get("as_json"))
    with console.progress_bar("Embedding", hidden=as_json) as progress:
        services.engine.wait_until_embedded(_EMBED_SECONDS, progress)


@contextmanager
def open_catalog(settings: Settings) -> Iterator[Catalog]:
    """Yield the catalog of the skills directory, scanned now or by the server that runs on it.

    Raises CommandFailed, DatabaseError.
    """
    try:
        lock = DataDirLock(settings.data_dir)
    except DataDirInUse:
        database = open_database(settings)
        try:
            yield Catalog(database, now)
        finally:
            database.close()
        return
    with open_services(settings, lock) as services:
        services.scan()
        yield services.catalog


@contextmanager
def open_services(settings: Settings, lock: DataDirLock, access: RegistryAccess = NO_ACCESS) -> Iterator[Services]:
    """Yield the services of a locked data directory, then close them and release the lock.

    Raises CommandFailed if the database, the embedding model or a secret cannot be used, here or in the block.
    """
    try:
        services = Services(settings, access=access)
        try:
            yield services
        finally:
            services.close()
    except (DatabaseUnusable, EmbeddingUnavailable, WeakSecret, KeyUnusable, PrivateFileExposed) as error:
        raise CommandFailed(str(error)) from None
    finally:
        lock.release()
