"""The sources of one running service: which there are, what each lists, and keeping that fresh."""

import datetime
import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from registry.catalog.store import Catalog, Clock
from registry.config.settings import Settings
from registry.db import Database
from registry.domain.models import timestamp
from registry.domain.source_entry import LOCAL, REGISTRY, Listed, SourceEntry, SourceKind
from registry.errors import conflict, not_found
from registry.outbound import AddressPolicy, OutboundClient, redact_url
from registry.outbound.git import Git
from registry.runtime.periodic_worker import PeriodicWorker
from registry.sources.fetching import FOLDER, Fetcher
from registry.sources.marketplace import claude_document
from registry.sources.offers import Offers
from registry.sources.refreshing import Outcome, Refreshing
from registry.sources.store import SourceStore

_log = logging.getLogger("registry.sources")

MAX_SOURCES = 100

_LOOK_SECONDS = 30.0


class SourceData(msgspec.Struct, kw_only=True):
    """A source in answers. `skills` is how many it lists; `error` says why the last refresh failed."""

    name: str
    type: SourceKind
    url: str | None
    path: str | None
    branch: str | None
    priority: int
    skills: int
    last_refreshed: str | None
    error: str | None
    warnings: list[str]
    configured: bool


class SourceSkills(msgspec.Struct, kw_only=True):
    """The cards of what one source lists."""

    source_name: str
    skills: list[msgspec.Raw]
    count: int


class SourceFault(msgspec.Struct, kw_only=True):
    """Why a source could not be read the last time."""

    source_name: str
    message: str


class AllSkills(msgspec.Struct, kw_only=True):
    """What every source lists; of one that fails what it listed before."""

    sources: list[SourceSkills]
    total_skills: int
    total_sources: int
    errors: list[SourceFault]


class MarketplaceSkill(msgspec.Struct, kw_only=True):
    """A skill in the flat form of a marketplace document; its id is the one it has within the source."""

    id: str
    name: str
    description: str
    version: str
    author: str
    tags: list[str]
    capabilities: list[str]
    download_url: str | None


class Marketplace(msgspec.Struct, kw_only=True):
    """A source as a marketplace document in the flat form."""

    version: str = "1.0"
    skills: list[MarketplaceSkill]


class Sources:
    """The skills directory, the sources of the configuration and those added while running.

    Args:
        settings: Names the configured sources, the limits and what may be reached.
        catalog: Where what is listed becomes searchable.
        clock: Tells the time.
    """

    def __init__(self, settings: Settings, database: Database, catalog: Catalog, clock: Clock) -> None:
        limits = settings.limits
        policy = AddressPolicy(settings.outbound.allowed_hosts)
        self._settings = settings
        self._clock = clock
        self._store = SourceStore(database, catalog, clock)
        self.fetcher = Fetcher(
            OutboundClient(policy),
            Git(policy, limits.git_seconds, limits.git_bytes),
            settings.data_dir / FOLDER,
            download_bytes=limits.download_bytes,
            unpacked_bytes=limits.git_bytes,
            download_seconds=limits.download_seconds,
        )
        self.offers = Offers(database, self.entries)
        self._refreshing = Refreshing(self.fetcher, self._keep)
        self._thread = PeriodicWorker("source ages", self._look)

    def entries(self) -> list[SourceEntry]:
        """Return the sources that are asked, by priority; a configured one counts before an added one of its name."""
        found: dict[str, SourceEntry] = {source.name: source for source in self._store.added()}
        found |= {source.name: source for source in self._settings.sources}
        return sorted(found.values(), key=lambda source: (source.priority, source.name))

    def _entry(self, name: str) -> SourceEntry:
        found = next((source for source in self.entries() if source.name == name), None)
        if found is None:
            raise not_found(f"Source '{name[:64]}'")
        return found

    def list(self) -> list[SourceData]:
        """Return every source, the skills directory first."""
        counts = self._store.counts()
        own = [self._own(name, counts.get(name, 0)) for name in self._own_names()]
        return [*own, *(self._data(source, counts.get(source.name, 0)) for source in self.entries())]

    def _own_names(self) -> Sequence[str]:
        """Return the sources that are our own; records made through the API are those of the registry profile."""
        return (LOCAL,) if self._settings.profile == "local" else (LOCAL, REGISTRY)

    def _own(self, name: str, count: int) -> SourceData:
        here = name == LOCAL and self._settings.profile == "local"  # callers elsewhere are told no path of ours
        return SourceData(
            name=name,
            type="local",
            url=None,
            path=str(self._settings.skills_dir) if here else None,
            branch=None,
            priority=0,
            skills=count,
            last_refreshed=None,
            error=None,
            warnings=[],
            configured=True,
        )

    def _data(self, source: SourceEntry, count: int) -> SourceData:
        state = self._store.state(source)
        return SourceData(
            name=source.name,
            type=source.type,
            url=redact_url(source.url) if source.url else None,
            path=source.path,
            branch=source.branch,
            priority=source.priority,
            skills=count,
            last_refreshed=state.last_refreshed,
            error=self._late(source) or state.error,
            warnings=state.warnings,
            configured=self._is_configured(source.name),
        )

    def _late(self, source: SourceEntry) -> str | None:
        wait = self._settings.limits.source_wait_seconds
        late = self._refreshing.waited(source) >= wait
        return f"it has not answered for {wait:g} s; what it listed before is shown" if late else None

    def _is_configured(self, name: str) -> bool:
        return any(source.name == name for source in self._settings.sources)

    def add(self, source: SourceEntry) -> SourceData:
        """Add a source and read it. Raises CONFLICT where one of its name exists."""
        if self._is_configured(source.name):
            raise conflict(f"Source '{source.name}' already exists")
        if len(self.entries()) >= MAX_SOURCES:
            raise conflict(f"There are {MAX_SOURCES} sources already, and each is read in a thread of its own")
        self._store.add(source)
        self._refresh([source], self._settings.limits.source_wait_seconds)
        return self._data(source, self._store.counts().get(source.name, 0))

    def remove(self, name: str) -> None:
        """Remove an added source and what it listed. Raises NOT_FOUND; CONFLICT for one of the configuration."""
        if name in self._own_names() or self._is_configured(name):
            raise conflict(f"Source '{name}' is set in the configuration and can only be removed there")
        self._entry(name)
        self._store.remove(name)
        self.fetcher.forget(name)

    def skills(self, name: str) -> SourceSkills:
        """Return what one source lists. Raises NOT_FOUND."""
        own = name in self._own_names()
        cards = self._store.own_cards(name) if own else self._store.cards(self._entry(name).name)
        return SourceSkills(source_name=name, skills=[msgspec.Raw(card) for card in cards], count=len(cards))

    def all_skills(self) -> AllSkills:
        """Return what every source lists, and which could not be read the last time."""
        sources = self.list()
        listed = [self.skills(source.name) for source in sources]
        return AllSkills(
            sources=listed,
            total_skills=sum(one.count for one in listed),
            total_sources=len(listed),
            errors=[SourceFault(source_name=one.name, message=one.error) for one in sources if one.error],
        )

    def _listed(self, name: str) -> Sequence[Listed]:
        if name in self._own_names():
            return self._store.own_listed(name)
        return self._store.listed(self._entry(name).name)

    def marketplace(self, name: str) -> Marketplace:
        """Return a source as a marketplace document in the flat form. Raises NOT_FOUND."""
        fields = MarketplaceSkill.__struct_fields__
        return Marketplace(
            skills=[MarketplaceSkill(**{key: getattr(one, key) for key in fields}) for one in self._listed(name)]
        )

    def claude_marketplace(self, name: str) -> dict[str, Any]:
        """Return a source as a plugin marketplace of Claude Code. Raises NOT_FOUND."""
        return claude_document(name, self._listed(name))

    def advertised(self, key: int) -> Listed | None:
        """Return the skill of a document as its source lists it, or None where it is installed."""
        return self._store.find(key)

    def refresh(self) -> None:
        """Read every source anew; those that are slow are read to the end in the background."""
        self._refresh(self.entries(), self._settings.limits.source_wait_seconds)

    def read_new(self) -> None:
        """Read the sources that nobody has tried to read yet."""
        new = [source for source in self.entries() if not self._store.state(source).last_tried]
        self._refresh(new, self._settings.limits.source_wait_seconds)

    def _refresh(self, sources: Sequence[SourceEntry], wait_seconds: float) -> None:
        marks = [(source, self._store.state(source).mark) for source in sources]
        self._refreshing.refresh(marks, wait_seconds)

    def _keep(self, source: SourceEntry, mark: str, outcome: Outcome) -> None:
        if source not in self.entries():
            return  # removed, or changed, while it was being read
        if isinstance(outcome, str):
            _log.warning("source %s: %s", source.name, outcome)
            self._store.failed(source, outcome)
        elif outcome is None:
            self._store.unchanged(source, mark)
        else:
            self._store.keep(source, outcome.mark, outcome.listing)

    def start(self) -> None:
        """Forget what is no source any more, and read from now on every source whose list is old."""
        self.fetcher.tidy()
        for gone in self._store.keep_only(source.name for source in self.entries()):
            self.fetcher.forget(gone)
        self._thread.start()

    def _look(self) -> float:
        try:
            self._refresh([source for source in self.entries() if self._is_old(source)], wait_seconds=0)
        except Exception:
            _log.exception("the sources cannot be read; it is tried again later")
        return _LOOK_SECONDS

    def _is_old(self, source: SourceEntry) -> bool:
        age = datetime.timedelta(seconds=self._settings.limits.source_refresh_seconds)
        return self._store.state(source).last_tried <= timestamp(self._clock() - age)

    def rest(self) -> None:
        """Read no more sources because of their age, until started again."""
        self._thread.stop()

    def stop(self) -> None:
        """Stop reading: what is under way counts for nothing."""
        self._refreshing.stop()
        self.rest()
