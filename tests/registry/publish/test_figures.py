"""Where the time of publishing goes is told in the figures."""

from collections.abc import Iterator
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from support.publishing import Registry, skill_package


def figures(registry: Registry, name: str) -> Iterator[Sample]:
    text = registry.get("/metrics", registry.caller()).text
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return (sample for sample in samples if sample.name == f"skill_registry_{name}")


def test_every_step_of_a_publish_is_in_the_figures(tmp_path: Path) -> None:
    every = dict.fromkeys(("submit", "read", "store", "record", "show"), 2)
    with Registry(tmp_path) as registry:
        for name in ("first", "second"):
            registry.finished(registry.publish(skill_package(name)))
        registry.wait_for(
            lambda: {one.labels["step"]: one.value for one in figures(registry, "publish_seconds_count")} == every
        )
        registry.wait_for(lambda: [one.value for one in figures(registry, "index_pushed_files_total")] == [2])
        (pushes,) = figures(registry, "index_push_seconds_count")
        assert 1 <= pushes.value <= 2
