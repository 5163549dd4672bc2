"""Everything the service is made of, built once from the settings and handed to the handlers."""

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from registry.catalog.documents import CatalogDocuments
from registry.catalog.local_skills import LocalSkills
from registry.catalog.record_skills import RecordSkills
from registry.catalog.scanner import Scanner, ScanReport
from registry.catalog.store import Catalog, Clock
from registry.catalog.versions import Versions
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import DatabaseError
from registry.domain.models import now
from registry.events.webhooks import WebhookSender
from registry.indexing.active_space import ActiveSpace
from registry.indexing.engine_factory import create_engine
from registry.indexing.reindex import Reindexing
from registry.indexing.snapshots import SnapshotPublisher, fetched_snapshots
from registry.install.installer import Installer
from registry.install.parts import InstallParts
from registry.install.staged_packages import StagedPackages
from registry.install.upgrade import Upgrader
from registry.outbound import AddressPolicy, OutboundClient
from registry.project.manifest_file import ManifestFile
from registry.project.project_files import ProjectFiles
from registry.publish.git_index import AttachedFile
from registry.publish.published import PublishedVersions
from registry.publish.service import Publishing
from registry.runtime.commit_listener import CommitListener
from registry.runtime.leader_election import LeaderElection
from registry.services.registry_profile import RegistryProfile
from registry.services.rescan import Rescan
from registry.services.skill_backends import SkillBackends
from registry.sources.service import Sources
from registry.transparency.checkpoint import checkpoint_file
from registry.transparency.log import TransparencyLog

_log = logging.getLogger("registry.services")

_FIRST_WAIT_SECONDS = 10.0
"""How long the first requests wait at most for the first scan, and then for vectors."""

_FIRST_VECTORS_SECONDS = 3.0
"""How long of that they wait for a model to load and a small catalog to be embedded."""


class Services:
    """The parts of one running service and their life.

    Opening takes the database and the index files; `begin` reads the skills directory and begins to embed;
    `ready` is set when the first requests are worth answering. `worker` is the process's number among those that
    serve one data directory: all but the first leave scanning and embedding to it, and of several replicas' first ones
    the database says which leads.
    """

    def __init__(self, settings: Settings, *, clock: Clock = now, worker: int = 0) -> None:
        self.settings = settings
        self.clock = clock
        self.started_at = time.monotonic()
        self.ready = threading.Event()
        self.draining = False
        self._starting: threading.Thread | None = None
        settings.skills_dir.mkdir(parents=True, exist_ok=True)
        self.database = open_database(settings)
        self.documents = CatalogDocuments(self.database)
        self.catalog = Catalog(self.database, clock)
        self.local = LocalSkills(settings.skills_dir.resolve(), self.catalog)
        self.records = RecordSkills(settings.skills_dir.resolve(), self.catalog)
        self.published = PublishedVersions(self.database, self.catalog, TransparencyLog(self.database, clock))
        is_local = settings.profile == "local"
        self.homes = SkillBackends(self.catalog, self.local, self.records, self.published, makes_folders=is_local)
        self.versions = Versions(self.catalog, lambda stored: self.homes.of(stored.skill.id).set_version)
        self.manifest = ManifestFile(settings.project.file)
        spaces = ActiveSpace(self.database, settings)
        self._embedder = spaces.embedder
        indexes = _index_folder(settings.data_dir, worker)
        self._snapshots = fetched_snapshots(settings, self.database, self.documents, indexes)
        self.engine, self._close_engine = create_engine(
            settings, self.database, self.documents, spaces, indexes, indexing=worker == 0
        )
        self._registry: RegistryProfile | None = None
        if settings.profile == "registry":
            self._registry = RegistryProfile(settings, self.database, self.engine, clock)
        self.reindexing = Reindexing(self.database, self.engine, clock)
        self.scanner = Scanner(self.local, self.catalog, self.engine.changed)
        self.sources = Sources(settings, self.database, self.catalog, clock, self.engine.changed)
        outbound = OutboundClient(AddressPolicy(settings.outbound.allowed_hosts))
        self.webhooks = WebhookSender(self.database, settings.webhooks, outbound, clock)
        self._publishing = self._make_publishing() if settings.registry.enabled else None
        self.project = ProjectFiles(settings, self.manifest, self.catalog)
        parts = self._install_parts()
        self.installer = Installer(parts)
        self.upgrader = Upgrader(parts, self.sources.fetcher)
        self._led = self._work_of_one()
        self._leading = self._make_leading(may_lead=worker == 0)
        self._waking = CommitListener(self.database, self._look)

    def _look(self) -> None:
        """Take up what has been committed, by whichever process."""
        if self._registry is not None:
            self._registry.access.revocations.refresh()
        if self._publishing is not None:
            self._publishing.look()
        self.webhooks.wake()
        self.engine.follow()

    def _make_leading(self, *, may_lead: bool) -> LeaderElection:
        lead = self.database.lead if may_lead else lambda: False
        return LeaderElection(lead, self._take_up, self._put_down, self.reindexing.resume)

    def _work_of_one(self) -> list[tuple[Callable[[], None], Callable[[], None]]]:
        """Return how to begin and to end each thing that only one process of a catalog does."""
        yield_to_foreground = self.engine.search.in_flight.yield_to_foreground
        findings = Rescan(self.records, self._publishing, self.engine.changed, yield_to_foreground)
        snapshots = SnapshotPublisher(self._snapshots, self.engine, self.documents)
        work = [
            (self.scanner.start, self.scanner.stop),
            (self.engine.start_indexing, self.engine.stop_indexing),
            (self.sources.start, self.sources.rest),
            (self.webhooks.start, self.webhooks.stop),
            (findings.start, findings.stop),
            (snapshots.start, snapshots.stop),
        ]
        if self._publishing is not None:
            work.append((self._publishing.start_leading, self._publishing.stop_leading))
        return work

    def _make_publishing(self) -> Publishing:
        return Publishing(
            self.settings,
            self.catalog,
            self.published,
            self.clock,
            self.engine,
            self.webhooks.enqueue,
            AttachedFile(checkpoint_file(self.registry.signer.name), lambda: self.registry.checkpoint().encode()),
            self.registry.metrics,
        )

    def _install_parts(self) -> InstallParts:
        return InstallParts(
            packages=StagedPackages(self.local.root, self.sources.fetcher, self.settings),
            offers=self.sources.offers,
            local=self.local,
            catalog=self.catalog,
            project=self.project,
            clock=self.clock,
            on_change=self.engine.changed,
            enqueue=self.webhooks.enqueue,
        )

    def searched(self, mode: str, seconds: float) -> None:
        """Count a search where there is somebody to read the figures."""
        if self._registry is not None:
            self._registry.metrics.searched(mode, seconds)

    @property
    def registry(self) -> RegistryProfile:
        """What only the registry profile has. Raises RuntimeError in the local one."""
        if self._registry is None:
            raise RuntimeError("the local profile has no tokens and roles")
        return self._registry

    @property
    def publishing(self) -> Publishing:
        """What only registry mode has. Raises RuntimeError elsewhere."""
        if self._publishing is None:
            raise RuntimeError("packages are published in registry mode only")
        return self._publishing

    def is_published(self, skill_id: str) -> bool:
        """Return whether this service publishes, and has ever published a version of this skill."""
        return self._publishing is not None and self.published.is_published(skill_id)

    def begin(self) -> None:
        """Start in a thread of its own, so that probes answer meanwhile."""
        self._starting = threading.Thread(target=self._start, name="start", daemon=True)
        self._starting.start()

    def scan(self) -> ScanReport | None:
        """Make the catalog what the skills directory is now; return None where another process has that to do."""
        return self.scanner.reconcile() if self.database.lead() else None

    def _take_up(self) -> None:
        """Begin what one process of a catalog does: read and watch the skills directory, embed, ask sources."""
        _log.info("skills directory: %s", self.scanner.reconcile().summary())
        for start, _ in self._led:
            start()

    def _put_down(self) -> None:
        for _, stop in self._led:
            stop()

    def _start(self) -> None:
        """Bring the indexes up to date, and do what the leader does if this process is it."""
        try:
            self._leading.start()
            self.engine.changed()
            if self._embedder is not None and self._embedder.provider == "local":
                self.engine.wait_until_embedded(_FIRST_VECTORS_SECONDS)
            if self._publishing is not None and not self.database.is_read_only:
                self._publishing.start()
        except Exception:
            _log.exception("starting failed half-way; what there is answers")
        finally:
            self._waking.start()
            if self._registry is not None:
                self._registry.start()
            self.ready.set()
            # What was made so far stays for good: the collector need not look at it again and again.
            gc.collect()
            gc.freeze()

    async def when_ready(self) -> "Services":
        """Return these services when the first scan is done, or when it takes too long to wait for."""
        deadline = time.monotonic() + _FIRST_WAIT_SECONDS
        while not self.ready.is_set() and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        return self

    def drain(self) -> None:
        """Say no to new traffic: `/readyz` answers 503 from now on."""
        self.draining = True

    def settled_number(self) -> int | None:
        """Return the change number searches see now; None while a change is being taken up, or where nobody can say."""
        try:
            return self.engine.search.number() if self.ready.is_set() else None
        except DatabaseError:  # the application says it as answers have to
            return None

    def writable(self) -> bool:
        """Return whether state-changing requests are taken."""
        return not self.settings.server.read_only

    def close(self) -> None:
        """Stop at a step boundary: what was acknowledged is in the database, the indexes are saved."""
        if self._starting is not None:
            self._starting.join()
        self._leading.stop()
        self._waking.stop()
        self._put_down()
        self.sources.stop()
        if self._publishing is not None:
            self._publishing.stop()
        self._close_engine()
        if self._registry is not None:
            self._registry.close()
        self.database.close()


def _index_folder(data_dir: Path, worker: int) -> Path:
    # tantivy has one writer a directory, so every worker follows the catalog in a folder of its own.
    return data_dir / "indexes" / (f"worker-{worker}" if worker else "")
