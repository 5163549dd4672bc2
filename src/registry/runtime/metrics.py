"""Prometheus metrics of one process: requests, searches, publishing, the index and jobs."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from registry.domain.withdrawals import WithdrawalState
from search.engine import Engine
from search.thread_health import thread_states
from search.types import Documents

CountJobs = Callable[[], Mapping[tuple[str, str], int]]
"""Returns the number of jobs by kind and state."""

CountWithdrawn = Callable[[], Mapping[str, int]]
"""Returns the number of installed skills by how their registry has withdrawn them."""

PublishStep = Literal["submit", "read", "store", "record", "show"]
"""The steps of publishing: receive the upload, unpack and check it, store it, write the database, index it."""

_UNAUTHORIZED = 401

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Collects the metrics of one process.

    Args:
        engine: Its state is read at each scrape.
        documents: Counts the stored vectors.
        count_jobs: Returns the number of jobs by kind and state.
        count_withdrawn: Returns the number of withdrawn installed skills by state.
        others: Yield more metrics at each scrape.
    """

    def __init__(
        self,
        engine: Engine,
        documents: Documents,
        count_jobs: CountJobs,
        count_withdrawn: CountWithdrawn,
        others: Sequence[Collector] = (),
    ) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the start time of each counter is useless, and doubles the output
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "skill_registry_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "skill_registry_request_seconds",
            "Time until a request was answered.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._searches = Counter(
            "skill_registry_searches", "Searches run, by what ranked them.", ("mode",), registry=self._registry
        )
        self._search_seconds = Histogram(
            "skill_registry_search_seconds", "Time of a search.", ("mode",), buckets=_SECONDS, registry=self._registry
        )
        self._uses, self._refused = _use_counters(self._registry)
        self._publish_seconds = Histogram(
            "skill_registry_publish_seconds",
            "Time of a step of publishing: submit, read, store, record, show.",
            ("step",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._push_seconds = Histogram(
            "skill_registry_index_push_seconds",
            "Time of a push of the registry index.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._pushed_files = Counter(
            "skill_registry_index_pushed_files", "Files of the index that were pushed.", registry=self._registry
        )
        for collector in (_State(engine, documents, count_jobs, count_withdrawn), *others):
            self._registry.register(collector)
        self._children: dict[tuple[str, str, int], tuple[Callable[[], None], Callable[[float], None]]] = {}

    def answered(self, scope: Any, status: int, seconds: float) -> None:
        """Count a request by its path template, never by its path, which has unlimited values."""
        method, route = scope["method"], str(scope.get("path_template") or "none")
        key = (method, route, status)
        child = self._children.get(key)
        if child is None:  # looking up a metric by its labels costs more than counting
            child = self._children[key] = (
                self._requests.labels(method, route, str(status)).inc,
                self._seconds.labels(method, route).observe,
            )
        count, observe = child
        count()
        observe(seconds)
        if status == _UNAUTHORIZED:
            self._refused.inc()

    def used(self, kind: str) -> None:
        """Count a use of a skill, by its kind."""
        self._uses.labels(kind).inc()

    def searched(self, mode: str, seconds: float) -> None:
        """Count a search. Responses from the cache count as requests only."""
        self._searches.labels(mode).inc()
        self._search_seconds.labels(mode).observe(seconds)

    def publish_step(self, step: PublishStep) -> AbstractContextManager[object]:
        """Measure the block as a step of publishing one package."""
        return self._publish_seconds.labels(step).time()

    @contextmanager
    def index_push(self, files: int) -> Iterator[None]:
        """Measure the block as a push of this many index files, if it succeeds."""
        started = time.monotonic()
        yield
        self._push_seconds.observe(time.monotonic() - started)
        self._pushed_files.inc(files)

    def exposition(self) -> bytes:
        """Return the metrics in the Prometheus text format 0.0.4."""
        return generate_latest(self._registry)


def _use_counters(registry: CollectorRegistry) -> tuple[Counter, Counter]:
    uses = "Skills that were installed, downloaded, read or chosen in a search, also twice by a caller."
    refused = "Requests whose credential or password was missing, wrong or expired."
    return (
        Counter("skill_registry_uses", uses, ("kind",), registry=registry),
        Counter("skill_registry_authentication_failures", refused, registry=registry),
    )


class _State(Collector):
    """The state of the index and the jobs at the time of a scrape."""

    def __init__(
        self, engine: Engine, documents: Documents, count_jobs: CountJobs, count_withdrawn: CountWithdrawn
    ) -> None:
        self._engine = engine
        self._documents = documents
        self._count_jobs = count_jobs
        self._count_withdrawn = count_withdrawn

    def collect(self) -> Iterator[Metric]:
        status = self._engine.status()
        for name, meaning, value in (
            ("indexed", "Skills with a current vector.", status.indexed),
            ("pending", "Skills whose text is still to be embedded.", status.pending),
            ("drift", "Documents by which an index differs from the catalog.", status.drift),
            ("generation", "The change number searches see.", status.generation),
        ):
            yield GaugeMetricFamily(f"skill_registry_index_{name}", meaning, value=value)
        if self._engine.indexer is not None:
            totals = self._engine.indexer.totals
            yield CounterMetricFamily("skill_registry_embedded", "Texts embedded.", value=totals.embedded)
            yield CounterMetricFamily("skill_registry_embedding_seconds", "Time embedding took.", value=totals.seconds)
        vectors = GaugeMetricFamily("skill_registry_vectors", "Vectors stored, by their space.", labels=("space",))
        for space in sorted(self._documents.spaces()):
            vectors.add_metric((space,), self._documents.vector_count(space))
        yield vectors
        yield from _thread_metrics()
        jobs = GaugeMetricFamily("skill_registry_jobs", "Jobs, by kind and state.", labels=("kind", "state"))
        for (kind, state), count in self._count_jobs().items():
            jobs.add_metric((kind, state), count)
        yield jobs
        withdrawn = GaugeMetricFamily(
            "skill_registry_installed_withdrawn",
            "Installed skills that their registry has withdrawn, by how.",
            labels=("state",),
        )
        counts = self._count_withdrawn()
        for state in get_args(WithdrawalState):
            withdrawn.add_metric((state,), counts.get(state, 0))
        yield withdrawn


def _thread_metrics() -> Iterator[Metric]:
    failures = CounterMetricFamily(
        "skill_registry_thread_failures", "Failed attempts of background threads.", labels=("thread",)
    )
    successes = GaugeMetricFamily(
        "skill_registry_thread_last_success_timestamp_seconds",
        "Time of the last successful attempt of background threads.",
        labels=("thread",),
    )
    for name, state in thread_states().items():
        failures.add_metric((name,), state.failures)
        if state.last_success is not None:
            successes.add_metric((name,), state.last_success)
    yield failures
    yield successes
