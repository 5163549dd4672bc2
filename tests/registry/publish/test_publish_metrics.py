"""The metrics show the time of each publish step."""

from pathlib import Path

from support.publishing import Registry, metrics, skill_package


def test_every_step_of_a_publish_is_in_the_metrics(tmp_path: Path) -> None:
    every = dict.fromkeys(("submit", "read", "store", "record", "show"), 2)
    with Registry(tmp_path) as registry:
        for name in ("first", "second"):
            registry.finished(registry.publish(skill_package(name)))
        registry.wait_for(
            lambda: {one.labels["step"]: one.value for one in metrics(registry, "publish_seconds_count")} == every
        )
        registry.wait_for(lambda: [one.value for one in metrics(registry, "index_pushed_files_total")] == [2])
        (pushes,) = metrics(registry, "index_push_seconds_count")
        assert 1 <= pushes.value <= 3  # both together or each alone, and maybe the log's first entry before them
