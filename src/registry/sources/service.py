"""The source service: adds, removes, lists and refreshes sources."""

import datetime
import itertools
import logging
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from registry.catalog.store import Catalog, Clock
from registry.config.settings import Settings
from registry.db import Database, DatabaseError
from registry.domain.models import timestamp
from registry.domain.repository_addresses import RepositoryAddress, parse_address
from registry.domain.source_entry import LOCAL, REGISTRY, Listed, NewSource, SourceEntry
from registry.errors import conflict, not_found
from registry.outbound import Interruption, redact_url
from registry.outbound.configured import git_client, outbound_client
from registry.runtime.periodic_worker import PeriodicWorker
from registry.sources.access import NO_ACCESS, RegistryAccess
from registry.sources.detection import detected
from registry.sources.fetching import FOLDER, Fetcher
from registry.sources.followed_withdrawals import FollowedWithdrawals
from registry.sources.followers import Followers
from registry.sources.log_monitor import LogMonitor
from registry.sources.log_states import LogStates
from registry.sources.marketplace_documents import built_in_listed
from registry.sources.offers import Offers
from registry.sources.refresher import Outcome, Refresh, Refresher, Stored
from registry.sources.registry_clients import RegistryClients
from registry.sources.registry_documents import PAGE_ENTRIES, Change
from registry.sources.registry_reader import RegistryReader, Told
from registry.sources.remote_registry import ReadableRegistry, RemoteRegistry
from registry.sources.schemas import (
    AllSkills,
    SourceData,
    SourceFault,
    SourceSkills,
)
from registry.sources.source_reader import SourceContents
from registry.sources.store import SourceStore
from registry.sources.tree import RECIPE

_log = logging.getLogger("registry.sources")

MAX_SOURCES = 100

_POLL_SECONDS = 30.0


class Sources:
    """The skills directory, the configured sources and those added at run time.

    Args:
        settings: The configured sources, the limits and the allowed hosts.
        catalog: Stores the listed skills, which makes them searchable.
        clock: Returns the current time.
        access: The registries and credentials of the person whose command uses the sources.

    Attributes:
        told: Called with each registry that was read.
        settled: Called at the start, and after a source was removed.
        mirrored: Returns what the mirror of a source keeps and fetches of its registry.
        unkept: Returns why the mirror of a source could not keep its last file, None if it could.
    """

    def __init__(
        self, settings: Settings, database: Database, catalog: Catalog, clock: Clock, access: RegistryAccess = NO_ACCESS
    ) -> None:
        limits = settings.limits
        self._settings = settings
        self._clock = clock
        self._store = SourceStore(database, catalog, clock)
        outbound = outbound_client(settings.outbound, access.hosts())
        self._clients = RegistryClients(settings, access, outbound)
        self.fetcher = Fetcher(
            outbound,
            git_client(settings.outbound, limits, outbound),
            settings.data_dir / FOLDER,
            download_bytes=limits.download_bytes,
            unpacked_bytes=limits.git_bytes,
            download_seconds=limits.download_seconds,
        )
        self.offers = Offers(self._store.skills, self.entries)
        self.log_monitor = LogMonitor(database)
        self.log_states = LogStates(database)
        self._withdrawals = FollowedWithdrawals(database, catalog, self.log_monitor, self.log_states)
        self.told: Told = lambda source, registry: None
        self.settled: Callable[[], None] = lambda: None
        self.mirrored: Callable[[SourceEntry], ReadableRegistry] = self.open
        self.unkept: Callable[[SourceEntry], str | None] = lambda source: None
        self._registry_reader = RegistryReader(
            self._store, self.log_monitor, self._withdrawals, self._tell, self.open, self._is_known
        )
        self._refresher = Refresher(self._read, self._store_outcome)
        self._followers = Followers(self._store, self.open, self._start_refresh)
        self._thread = PeriodicWorker("source ages", self._refresh_old, _log, (DatabaseError,))

    def entries(self) -> list[SourceEntry]:
        """Return the sources by priority. A configured source overrides an added one with the same name."""
        by_name: dict[str, SourceEntry] = {source.name: source for source in self._store.added()}
        by_name |= {source.name: source for source in self._settings.sources}
        return sorted(by_name.values(), key=lambda source: (source.priority, source.name))

    def _entry(self, name: str) -> SourceEntry:
        entry = next((source for source in self.entries() if source.name == name), None)
        if entry is None:
            raise not_found(f"Source '{name[:64]}'")
        return entry

    def list(self) -> list[SourceData]:
        """Return every source, the skills directory first."""
        counts = self._store.skills.counts()
        built_in = [self._built_in(name, counts.get(name, 0)) for name in self._built_in_names()]
        return [*built_in, *(self._data(source, counts.get(source.name, 0)) for source in self.entries())]

    def _built_in_names(self) -> Sequence[str]:
        """Return the names of the built-in sources. Records exist in the registry profile only."""
        return (LOCAL,) if self._settings.profile == "local" else (LOCAL, REGISTRY)

    def _built_in(self, name: str, count: int) -> SourceData:
        # Remote callers get no local path.
        has_path = name == LOCAL and self._settings.profile == "local"
        return SourceData(
            name=name,
            type="local",
            url=None,
            path=str(self._settings.skills_dir) if has_path else None,
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
            url=_shown_url(source),
            path=source.path,
            branch=source.branch,
            priority=source.priority,
            skills=count,
            last_refreshed=state.last_refreshed,
            error=self._timeout(source) or state.error or self.unkept(source),
            warnings=state.warnings,
            configured=self._is_configured(source.name),
            mirror=source.mirror,
        )

    def _timeout(self, source: SourceEntry) -> str | None:
        wait = self._settings.limits.source_wait_seconds
        is_late = self._refresher.running_seconds(source) >= wait
        return f"the source has not responded for {wait:g} s; its previous skills are shown" if is_late else None

    def _is_configured(self, name: str) -> bool:
        return any(source.name == name for source in self._settings.sources)

    def add(self, new: NewSource) -> SourceData:
        """Add a source and read it. Without a type, find out what is at its URL.

        Raises CONFLICT if the name exists or there are too many sources, VALIDATION_ERROR.
        """
        entries = self.entries()
        if any(source.name == new.name for source in entries):
            raise conflict(f"Source '{new.name}' already exists")
        if len(entries) >= MAX_SOURCES:
            raise conflict(f"There are already {MAX_SOURCES} sources, which is the maximum")
        source = detected(new, self._clients.open, self.fetcher.has_index)
        self._store.add(source)
        self._refresh([source], self._settings.limits.source_wait_seconds)
        self._followers.follow(self.entries())
        return self._data(source, self._store.skills.counts().get(source.name, 0))

    def remove(self, name: str) -> None:
        """Remove an added source and its skills. Raises NOT_FOUND; CONFLICT for a configured or built-in source."""
        if name in self._built_in_names() or self._is_configured(name):
            raise conflict(f"Source '{name}' is configured or built in and cannot be removed")
        source = self._entry(name)
        self._store.remove(name)
        self._followers.follow(self.entries())
        self._forget(source)
        self.settled()

    def _forget(self, source: SourceEntry) -> None:
        self.fetcher.remove(source.name)
        if source.type == "registry" and not self._of_registry(str(source.url)):
            self.log_monitor.forget(str(source.url))
            self.log_states.forget(str(source.url))

    def _of_registry(self, url: str) -> Sequence[SourceEntry]:
        return [source for source in self.entries() if source.type == "registry" and source.url == url]

    def skills(self, name: str) -> SourceSkills:
        """Return the skills of one source. Raises NOT_FOUND."""
        is_built_in = name in self._built_in_names()
        cards = (
            self._store.skills.built_in_cards(name) if is_built_in else self._store.skills.cards(self._entry(name).name)
        )
        return SourceSkills(source_name=name, skills=[msgspec.Raw(card) for card in cards], count=len(cards))

    def all_skills(self) -> AllSkills:
        """Return the skills of all sources, and the errors of their last refreshes."""
        sources = self.list()
        listed = [self.skills(source.name) for source in sources]
        return AllSkills(
            sources=listed,
            total_skills=sum(source.count for source in listed),
            total_sources=len(listed),
            errors=[SourceFault(source_name=source.name, message=source.error) for source in sources if source.error],
        )

    def listed(self, name: str) -> Sequence[Listed]:
        """Return what a source lists, without texts and disabled skills. Raises NOT_FOUND."""
        if name not in self._built_in_names():
            return self._store.skills.listed(self._entry(name).name)
        urls = self._settings.package_urls if self._settings.registry.enabled else None
        skills = self._store.skills.built_in_skills(name)
        return [built_in_listed(skill, urls) for skill in skills if skill.enabled]

    def registry_at(self, url: str) -> ReadableRegistry:
        """Return the registry at a URL, with the credential of its source if there is one, else with the person's.

        One that is mirrored here is read from its mirror. Raises OutboundError for an invalid URL.
        """
        url = url.rstrip("/")
        sources = self._of_registry(url)
        if mirrored := next((source for source in sources if source.mirror), None):
            return self.mirrored(mirrored)
        return self._clients.open(url, next(filter(None, (source.api_key for source in sources)), None))

    def file(self, source: SourceEntry, found: Iterable[Change | str], registry: ReadableRegistry) -> int:
        """List skills that a mirror keeps as those of its source, and return how many.

        A text in `found` is a warning about a skill that cannot be listed. What the registry has withdrawn is noted on
        the installed skills too. Raises OutboundError, LogRefused.
        """
        listed, rest = 0, iter(found)
        while batch := list(itertools.islice(rest, PAGE_ENTRIES)):
            changes = [change for change in batch if isinstance(change, Change)]
            self._store.file(source, changes, [warning for warning in batch if isinstance(warning, str)])
            listed += sum(change.listed is not None for change in changes)
        self._withdrawals.update(registry)
        return listed

    def _tell(self, source: SourceEntry, registry: RemoteRegistry) -> None:
        self.told(source, registry)

    def open(self, source: SourceEntry, interruption: Interruption | None = None) -> RemoteRegistry:
        """Return the registry behind a source, with its credential. Raises OutboundError for an expired login."""
        return self._clients.open(str(source.url), source.api_key, interruption)

    def refresh(self, names: Collection[str] | None = None) -> None:
        """Refresh every source, or those with these names. Slow ones continue in the background."""
        chosen = [source for source in self.entries() if names is None or source.name in names]
        self._refresh(chosen, self._settings.limits.source_wait_seconds)

    def read_new(self) -> None:
        """Read the sources that were never read."""
        new = [source for source in self.entries() if not self._store.state(source).last_tried]
        self._refresh(new, self._settings.limits.source_wait_seconds)

    def _refresh(self, sources: Sequence[SourceEntry], wait_seconds: float) -> None:
        marks = [(source, self._store.state(source).mark) for source in sources]
        self._refresher.refresh(marks, wait_seconds)

    def _start_refresh(self, source: SourceEntry) -> Refresh:
        return self._refresher.start(source, self._store.state(source).mark)

    def _read(self, source: SourceEntry, mark: str) -> SourceContents | Stored | None:
        if source.type == "registry":
            return self._registry_reader.read(source, mark)
        recipe = mark.removeprefix(RECIPE) if mark.startswith(RECIPE) else ""
        contents = self.fetcher.read(source, recipe)
        return contents._replace(mark=RECIPE + contents.mark) if contents is not None else None

    def _is_known(self, source: SourceEntry) -> bool:
        return source in self.entries()

    def _store_outcome(self, source: SourceEntry, mark: str, outcome: Outcome) -> None:
        if isinstance(outcome, Stored) or not self._is_known(source):
            return  # or the source was removed or changed while it was read
        if isinstance(outcome, str):
            if outcome != self._store.state(source).error:
                _log.warning("source %s: %s", source.name, outcome)
            self._store.failed(source, outcome)
        elif outcome is None:
            self._store.unchanged(source, mark)
        else:
            self._store.replace(source, outcome.mark, outcome.listing, is_complete=outcome.is_complete)

    def start(self) -> None:
        """Remove the skills of removed sources, and start to refresh sources periodically."""
        self.fetcher.remove_partial()
        for removed in self._store.remove_others(source.name for source in self.entries()):
            self._forget(removed)
        self.settled()
        self._thread.start()
        self._followers.start(self.entries())

    def look(self) -> None:
        """Follow the registries that another process has added, and no longer those that it has removed."""
        if self._followers.is_started:
            self._followers.follow(self.entries())

    def _refresh_old(self) -> float:
        self._refresh([source for source in self.entries() if self._is_old(source)], wait_seconds=0)
        return _POLL_SECONDS

    def _is_old(self, source: SourceEntry) -> bool:
        age = datetime.timedelta(seconds=self._settings.limits.source_refresh_seconds)
        return self._store.state(source).last_tried <= timestamp(self._clock() - age)

    def pause(self) -> None:
        """Stop the periodic refresh, and follow no registry, until the next `start`."""
        self._thread.stop()
        self._followers.stop()

    def stop(self) -> None:
        """Stop, and discard refreshes that are running."""
        self._refresher.stop()
        self._registry_reader.stop()
        self.pause()


def _shown_url(source: SourceEntry) -> str | None:
    """Return the URL of a source without secrets. That of a repository has the ref and the folder in its path."""
    if source.url is None:
        return None
    address = parse_address(source.url) if source.type == "git" else None
    return redact_url(address.canonical() if isinstance(address, RepositoryAddress) else source.url)
