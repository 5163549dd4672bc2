"""Registries are followed as long as they are sources, by requests that wait there and end at once."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from registry.config.settings import load_settings
from registry.database.sqlite import SqliteDatabase
from registry.domain.models import now
from registry.domain.source_entry import NewSource
from registry.sources.service import Sources
from support import slow_answers
from support.catalogs import SkillCatalog
from support.scripted_registry import ScriptedRegistry
from support.waiting import wait_until
from support.web_server import Answer

WAITING = "/api/v1/registry/index/changes?after={}&limit=1&wait=25"


@pytest.fixture
def remote() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry() as server:
        server.publish("a/b")
        for revision in range(10):
            server.answers[WAITING.format(revision)] = slow_answers.silence
        yield server


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[SkillCatalog]:
    database = SqliteDatabase(tmp_path / "skill-registry.db")
    yield SkillCatalog(database)
    database.close()


@pytest.fixture
def sources(kept: SkillCatalog, tmp_path: Path) -> Iterator[Sources]:
    with closing_sources(kept, tmp_path) as opened:
        yield opened


@contextmanager
def closing_sources(kept: SkillCatalog, folder: Path) -> Iterator[Sources]:
    settings = load_settings({"data_dir": str(folder), "outbound.allowed_hosts": ("127.0.0.1",)}, {})
    opened = Sources(settings, kept.database, kept.catalog, now)
    yield opened
    opened.stop()


def followed() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("follow ")}


def test_a_registry_is_followed_from_start_to_stop(remote: ScriptedRegistry, sources: Sources) -> None:
    sources.add(NewSource(name="hub", url=remote.url))
    assert followed() == set()
    sources.start()
    wait_until(lambda: remote.asked("wait=25") == 1)
    assert followed() == {"follow hub"}
    sources.pause()
    assert followed() == set()
    sources.start()
    wait_until(lambda: remote.asked("wait=25") == 2)


def test_added_and_removed_sources_are_followed_and_no_longer(
    remote: ScriptedRegistry, sources: Sources, kept: SkillCatalog, tmp_path: Path
) -> None:
    sources.start()
    sources.add(NewSource(name="hub", url=remote.url))
    wait_until(lambda: remote.asked("wait=25") == 1)
    with closing_sources(kept, tmp_path) as other:
        other.add(NewSource(name="near", url=remote.url))
    sources.look()  # another process has added one
    wait_until(lambda: remote.asked("wait=25") == 2)
    assert followed() == {"follow hub", "follow near"}
    sources.remove("hub")
    wait_until(lambda: followed() == {"follow near"})


def test_a_change_there_is_read_at_once(remote: ScriptedRegistry, sources: Sources) -> None:
    remote.answers.clear()
    sources.start()
    sources.add(NewSource(name="hub", url=remote.url))
    for count in range(2, 5):
        remote.publish(f"a/s{count}")
        wait_until(lambda: sources.skills("hub").count == count)  # noqa: B023 - it is called before the next round


def test_a_registry_that_fails_is_tried_again(remote: ScriptedRegistry, sources: Sources) -> None:
    remote.answers.clear()
    sources.start()
    sources.add(NewSource(name="hub", url=remote.url))
    remote.refusal = 503
    wait_until(lambda: "503" in str(sources.list()[-1].error))
    remote.refusal = None
    remote.publish("a/c")
    wait_until(lambda: (sources.list()[-1].error, sources.skills("hub").count) == (None, 2))


def test_a_registry_that_always_has_news_is_not_read_all_the_time(remote: ScriptedRegistry, sources: Sources) -> None:
    """Each answer lists the end of another skill that nobody knows."""
    remote.answers.clear()
    every_page = remote.answer

    def endless(target: str) -> Answer:
        remote.remove(f"a/gone{remote.revision}")
        return every_page(target)

    remote.answer = endless  # type: ignore[method-assign]
    sources.start()
    sources.add(NewSource(name="hub", url=remote.url))
    asked, started = remote.asked("changes"), time.monotonic()
    wait_until(lambda: remote.asked("wait=25") > 3)
    assert remote.asked("changes") - asked <= 2 * (time.monotonic() - started) + 3
