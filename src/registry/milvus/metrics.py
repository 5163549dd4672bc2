"""Figures of the calls to Milvus for Prometheus."""

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from registry.milvus.connection import MilvusConnection


class MilvusMetrics(Collector):
    """The calls of one process by method, and how many changes of the catalog Milvus lacks."""

    def __init__(self, milvus: MilvusConnection, behind: Callable[[], int]) -> None:
        self._milvus = milvus
        self._behind = behind

    def collect(self) -> Iterator[Metric]:
        """Yield the figures at the time of a scrape."""
        calls = CounterMetricFamily("skill_registry_milvus_calls", "Calls of Milvus.", labels=("method",))
        failures = CounterMetricFamily("skill_registry_milvus_failures", "Calls that failed.", labels=("method",))
        seconds = CounterMetricFamily("skill_registry_milvus_seconds", "Time that calls took.", labels=("method",))
        for method, totals in self._milvus.totals().items():
            calls.add_metric((method,), totals.calls)
            failures.add_metric((method,), totals.failures)
            seconds.add_metric((method,), totals.seconds)
        yield from (calls, failures, seconds)
        meaning = "Changes of the catalog that Milvus lacks, as this process knows."
        yield GaugeMetricFamily("skill_registry_milvus_behind", meaning, value=self._behind())
