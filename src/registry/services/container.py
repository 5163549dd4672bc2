"""The composition root: builds every part of the service once from the settings."""

import asyncio
import functools
import gc
import logging
import threading
import time
from functools import partial
from typing import NamedTuple, Protocol

from embeddings import Embedder
from registry.auth.access import Access
from registry.auth.audit import Audit
from registry.auth.private_scopes import PrivateScopes
from registry.auth.scope_access import ScopeAccess
from registry.catalog.documents import CatalogDocuments
from registry.catalog.installed_withdrawals import count_withdrawn
from registry.catalog.local_skills import LocalSkills
from registry.catalog.record_skills import RecordSkills
from registry.catalog.scanner import Scanner, ScanReport
from registry.catalog.store import Catalog, Clock
from registry.catalog.versions import Versions
from registry.config.settings import Settings
from registry.database import open_database
from registry.db import Transaction
from registry.domain.models import now
from registry.events.webhooks import Logged, WebhookSender
from registry.indexing.active_space import ActiveSpace
from registry.indexing.embedder import choose_embedder
from registry.indexing.engine_factory import create_engine, index_folder
from registry.indexing.reindex import Reindexing
from registry.indexing.snapshots import SnapshotPublisher, fetch_snapshots
from registry.inspection.inspector import Inspector
from registry.mirrors.service import Mirrors
from registry.outbound.configured import outbound_client
from registry.project.manifest_file import ManifestFile
from registry.project.project_files import ProjectFiles
from registry.publish.published import PublishedVersions
from registry.publish.service import Publishing
from registry.publish.stored_packages import StoredPackages
from registry.runtime.commit_listener import CommitListener
from registry.runtime.leader_election import LeaderElection
from registry.runtime.metrics import Metrics
from registry.runtime.periodic_worker import STOP_SECONDS
from registry.runtime.startup import Part, Startup
from registry.runtime.stored_jobs import count_jobs
from registry.services.damage_watch import damage_watch
from registry.services.feedback import Feedback
from registry.services.installing import build_installing
from registry.services.listing import CatalogLists
from registry.services.names import SkillNames
from registry.services.outage_watch import outage_watch
from registry.services.registry_profile import RegistryProfile
from registry.services.rescan import Rescan
from registry.services.schemas import State
from registry.services.skill_backends import SkillBackends
from registry.services.skill_files import SkillFiles
from registry.services.usage import Usage
from registry.skill_folder.bin import SkillBin
from registry.sources.access import NO_ACCESS, RegistryAccess
from registry.sources.service import Sources
from registry.transparency.log import LogEntry, TransparencyLog
from search.thread_health import ThreadHealth, thread_states

_log = logging.getLogger("registry.services")

_FIRST_WAIT_SECONDS = 10.0
"""The longest wait of the first requests for the first scan."""

_FIRST_VECTORS_SECONDS = 3.0
"""The part of it for loading a model and embedding a small catalog."""

_TRY_AGAIN_SECONDS = 1.0
"""How often parts that could not start are checked for a retry."""


class Host(NamedTuple):
    """The services that a private scope belongs to, and its name."""

    scope: str
    services: "Services"


class Attached(Protocol):
    """What lives as long as the services."""

    def start(self) -> None:
        """Start, once requests can be answered."""

    def look(self) -> None:
        """Take up what any process has committed. It must not wait."""

    def drain(self) -> None:
        """Refuse new traffic. It is called in the event loop."""

    def end(self) -> None:
        """Stop at a step boundary."""


class Services:
    """The parts of one running service, and their start and stop.

    The constructor opens the database and the index files. `begin` scans the skills directory and starts to embed.
    `ready` is set when requests can be answered. `worker` is the number of the process among those that serve one data
    directory. Only worker 0 scans and embeds; among the first workers of several replicas, the database elects one.
    `access` is that of the person whose command builds the services. The services of a private scope have a `host`,
    with which they share the credentials, the limits of callers and the model.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock = now,
        worker: int = 0,
        access: RegistryAccess = NO_ACCESS,
        host: Host | None = None,
    ) -> None:
        self.settings = settings
        self.host, self.clock = host, clock
        self._attached: list[Attached] = []
        self.started_at, self.draining = time.monotonic(), False
        self.ready = threading.Event()
        self._start_thread: threading.Thread | None = None
        self._closing = threading.Event()
        settings.skills_dir.mkdir(parents=True, exist_ok=True)
        self.database = open_database(settings)
        self.documents = CatalogDocuments(self.database)
        self.catalog = Catalog(self.database, clock)
        self._inspector = Inspector(settings.limits, patience=settings.limits.scan_seconds)
        self._background_inspector = Inspector(settings.limits)
        root, skill_bin = settings.skills_dir.resolve(), SkillBin.configured(settings, clock)
        self.local = LocalSkills(root, self.catalog, self._inspector, settings.staging_dir, skill_bin)
        self.records = RecordSkills(root, self.catalog, self._inspector)
        self.webhooks = WebhookSender(self.database, settings.webhooks, outbound_client(settings.outbound), clock)
        log = TransparencyLog(self.database, clock)
        self.published = PublishedVersions(self.database, self.catalog, log, self._tell_withdrawal)
        self._packages = StoredPackages.configured(settings) if settings.registry.enabled else None
        stored = (self.catalog, self.local, self.records, self.published, self._packages)
        self.skill_backends = SkillBackends(*stored, makes_folders=settings.profile == "local")
        self.versions = Versions(self.catalog, lambda stored: self.skill_backends.of(stored.skill.id).set_version)
        self.manifest = ManifestFile(settings.project.file)
        self.feedback = Feedback(settings, self.database, self.catalog, clock)
        self._open_engine(worker)
        self._registry = self._make_registry(clock, worker) if settings.profile == "registry" else None
        self.scanner = Scanner(self.local, self.catalog, self._background_inspector, self.manifest.follow)
        self.sources = Sources(settings, self.database, self.catalog, clock, access)
        self.mirrors = Mirrors(settings, self.sources)
        self._publishing = self._make_publishing(self._packages) if self._packages else None
        self.skill_files = SkillFiles(self.catalog, self.local, self.published, self._packages, self.mirrors)
        self.names = SkillNames(self.documents, self.skill_files, self.skill_backends)
        self.project = ProjectFiles(settings, self.manifest, self.catalog)
        self.installer, self.upgrader, self.install_jobs = build_installing(self, self._inspector)
        self._led = Startup(self._work_of_one())
        self._leading = self._make_leading(may_lead=worker == 0)
        self._damage, self._outages = damage_watch(self.database), outage_watch(self.database)
        self._waking = CommitListener(self.database, self._look)
        self._starting = Startup(self._work_of_each())

    def _open_engine(self, worker: int) -> None:
        settings = self.settings
        self.embedder: Embedder | None = self.host.services.embedder if self.host else choose_embedder(settings)
        spaces, indexes = ActiveSpace(self.database, settings, self.embedder), index_folder(settings.data_dir, worker)
        self._snapshots = fetch_snapshots(settings, self.database, self.documents, indexes)
        self.engine, self._close_engine, self._engine_metrics = create_engine(
            settings, self.database, self.documents, spaces, indexes, indexing=worker == 0
        )
        self.database.hooks.after_change(self.engine.changed)
        self.reindexing = Reindexing(self.catalog, self.engine, self.clock)

    def _look(self) -> None:
        """Take up what any process has committed."""
        if self._registry is not None:
            self._registry.access.revocations.refresh()
            self._registry.witnesses.wake()
        if self._publishing is not None:
            self._publishing.poll()
        self.webhooks.wake()
        self.sources.look()
        self.engine.sync()
        for attached in self._attached:
            attached.look()

    def _make_leading(self, *, may_lead: bool) -> LeaderElection:
        lead = self.database.lead if may_lead else lambda: False
        return LeaderElection(lead, self._take_up, self._led.end, self._look_after)

    def _work_of_each(self) -> list[Part]:
        """Return the parts that run in every process. `close` stops all of them."""
        work = [
            Part("outages", self._outages.start),
            Part("integrity", self._damage.start),
            Part("lead", self._leading.start),
        ]
        work.append(Part("indexes", self.engine.changed))
        if self._publishing is not None and not self.database.is_read_only:
            work.append(Part("publishing", self._publishing.start))
        work.append(Part("waking", self._waking.start))
        work.append(Part("uses", self.usage.start))
        if self._registry is not None:
            work.append(Part("limits", self._registry.start))
        return work

    def _work_of_one(self) -> list[Part]:
        """Return the parts that run in the leader only."""
        rescanned = (self.records, self.published, self._publishing, self._background_inspector)
        findings = Rescan(*rescanned, self.database.hooks, self.engine.search.in_flight.yield_to_foreground)
        snapshots = SnapshotPublisher(self._snapshots, self.engine, self.documents)
        work = [
            Part("watching", self.scanner.start, self.scanner.stop),
            Part("embedding", self.engine.start_indexing, self.engine.stop_indexing),
            Part("sources", self.sources.start, self.sources.pause),
            Part("webhooks", self.webhooks.start, self.webhooks.stop),
            Part("findings", findings.start, findings.stop),
            Part("snapshots", snapshots.start, snapshots.stop),
        ]
        if not self.database.is_read_only:
            work.append(Part("choices", self.feedback.forgetting.start, self.feedback.forgetting.stop))
        if self._registry is not None and not self.database.is_read_only:
            work.append(Part("witnesses", self._registry.witnesses.start, self._registry.witnesses.stop))
        if self._registry is not None and self.settings.audit.keep_days and not self.database.is_read_only:
            removal = self._registry.audit_removal.worker
            work.append(Part("audit", removal.start, removal.stop))
        if self._publishing is not None:
            work.append(Part("index pushes", self._publishing.start_leading, self._publishing.stop_leading))
        return work

    def _make_registry(self, clock: Clock, worker: int) -> RegistryProfile:
        counts = (partial(count_jobs, self.database), partial(count_withdrawn, self.database))
        metrics = Metrics(self.engine, self.documents, *counts, self._engine_metrics)
        self.usage.told = metrics.used
        return RegistryProfile(self.settings, self.database, metrics, clock, worker, self._access_of_scope(clock))

    def _access_of_scope(self, clock: Clock) -> Access | None:
        if self.host is None:
            return None
        service, audit = self.host.services, Audit(self.database, clock)
        return ScopeAccess(service.registry.access, service.private_scopes, self.host.scope, audit)

    def _make_publishing(self, packages: StoredPackages) -> Publishing:
        return Publishing(
            self.settings,
            self.catalog,
            self.published,
            packages,
            self.engine,
            self.webhooks.enqueue,
            self.registry.index_log(),
            self.registry.metrics,
        )

    def _tell_withdrawal(self, transaction: Transaction, number: int, entry: LogEntry) -> None:
        logged = Logged(
            number=number,
            kind=entry.kind,
            skill_id=str(entry.skill_id),
            version=entry.version,
            checksum=entry.sha256,
            reason=entry.reason,
            replacement=entry.replacement,
        )
        self.webhooks.enqueue_logged(transaction, logged)

    def searched(self, mode: str, seconds: float) -> None:
        """Count a search in the metrics, in the registry profile."""
        if self._registry is not None:
            self._registry.metrics.searched(mode, seconds)

    @property
    def registry(self) -> RegistryProfile:
        """The services of the registry profile. Raises RuntimeError in the local profile."""
        if self._registry is None:
            raise RuntimeError("the local profile has no tokens and roles")
        return self._registry

    @property
    def publishing(self) -> Publishing:
        """Publishing. Raises RuntimeError outside registry mode."""
        if self._publishing is None:
            raise RuntimeError("packages are published in registry mode only")
        return self._publishing

    @functools.cached_property
    def private_scopes(self) -> PrivateScopes:
        """The private scopes of this service."""
        return PrivateScopes(self.database, self.clock)

    @functools.cached_property
    def usage(self) -> Usage:
        """The counts of uses of skills."""
        return Usage(self.settings, self.database, self.catalog, self.clock)

    @functools.cached_property
    def lists(self) -> CatalogLists:
        """Lists of all skills that search can find."""
        return CatalogLists(self.documents, self.usage, self.engine.search.browse)

    def is_published(self, skill_id: str) -> bool:
        """Return whether this service publishes and has published a version of this skill."""
        return self._publishing is not None and self.published.is_published(skill_id)

    def begin(self) -> None:
        """Start in a background thread, so that probes answer meanwhile."""
        self._start_thread = threading.Thread(target=self._start, name="start", daemon=True)
        self._start_thread.start()

    def scan(self) -> ScanReport | None:
        """Reconcile the catalog with the skills directory. Return None if another process does that."""
        return self.scanner.reconcile() if self.database.lead() else None

    def _take_up(self) -> None:
        """Start the leader's work: scan and watch the skills directory, embed, refresh sources; empty the bin."""
        self.local.bin.empty()
        report = self.scanner.reconcile_quietly()
        if report is not None:
            _log.info("skills directory: %s", report.summary())
        self._led.begin()

    def _look_after(self) -> None:
        """Do the leader's periodic work: retry parts that could not start, and resume jobs of processes that died."""
        self._led.begin()
        self.reindexing.resume()

    def _start(self) -> None:
        """Start every part, the leader's work too if this process leads, and retry what fails."""
        has_all = self._starting.begin()
        if has_all and self.embedder is not None and self.embedder.provider == "local":
            with ThreadHealth("start", _log).attempt():
                self.engine.prepare(_FIRST_VECTORS_SECONDS)
        self.ready.set()
        for attached in self._attached:
            attached.start()
        gc.collect()
        gc.freeze()  # these objects live until `close`, so the garbage collector need not visit them again
        while not has_all and not self._closing.wait(_TRY_AGAIN_SECONDS):
            has_all = self._starting.begin()

    def problems(self) -> dict[str, str]:
        """Return the parts and threads of this process that do not work, with the reason. Each is retried."""
        failing = {name: state.problem for name, state in thread_states().items() if state.problem}
        registry = self._registry.problems() if self._registry is not None else {}
        damaged = {"database": "it is damaged: run 'skill-registry admin fsck'"} if self.database.is_damaged else {}
        return damaged | registry | failing | self._starting.problems() | self._led.problems()

    def state(self) -> State:
        """Return the state of this process."""
        if self.draining:
            return "draining"
        if not self.ready.is_set():
            return "starting"
        return "degraded" if self.problems() else "ok"

    async def when_ready(self) -> "Services":
        """Return these services after the first scan, or after the longest wait for it."""
        deadline = time.monotonic() + _FIRST_WAIT_SECONDS
        while not self.ready.is_set() and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        return self

    def attach(self, attached: Attached) -> None:
        """Have something live with the services."""
        self._attached.append(attached)

    def drain(self) -> None:
        """Refuse new traffic: `/readyz` answers 503 from now on. Call it in the event loop."""
        self.draining = True
        for attached in self._attached:
            attached.drain()
        if self._publishing is not None:
            self._publishing.drain()

    def writable(self) -> bool:
        """Return whether requests that change something are accepted."""
        return not self.settings.server.read_only

    def close(self) -> None:
        """Stop at a step boundary. Everything acknowledged is in the database; the indexes are saved."""
        self._closing.set()
        self._background_inspector.close()  # first, because a slow scan would delay the stop
        if self._start_thread is not None:
            self._start_thread.join()
        self.install_jobs.stop()
        self.usage.stop()
        self._leading.stop()
        self._waking.stop()
        for attached in self._attached:
            attached.end()
        self._damage.stop(STOP_SECONDS)
        self._outages.stop(STOP_SECONDS)
        self._led.end()
        self.sources.stop()
        if self._publishing is not None:
            self._publishing.stop()
        self._inspector.close()
        self._close_engine()
        if self._registry is not None:
            self._registry.close()
        self.database.close()
        gc.unfreeze()
