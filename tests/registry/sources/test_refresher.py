"""Sources are refreshed concurrently: one that hangs or fails delays no other."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.domain.source_entry import SourceEntry
from registry.outbound import AddressPolicy, OutboundClient
from registry.outbound.git import Git
from registry.sources.fetching import Fetcher
from registry.sources.refresher import Outcome, Refresher
from registry.sources.source_reader import SourceContents
from support import slow_answers
from support.threads import no_new_threads
from support.web_server import WebServer, reply


class Kept:
    """What was taken over, by source."""

    def __init__(self) -> None:
        self.outcomes: dict[str, list[Outcome]] = {}
        self.threads: set[str] = set()

    def __call__(self, source: SourceEntry, mark: str, outcome: Outcome) -> None:
        self.outcomes.setdefault(source.name, []).append(outcome)
        self.threads.add(threading.current_thread().name)


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer({"/good.json": reply(b'{"skills": []}'), "/hangs.json": slow_answers.silence}) as server:
        yield server


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def refresher(tmp_path: Path, kept: Kept) -> Iterator[Refresher]:
    policy = AddressPolicy(["127.0.0.1"])
    fetcher = Fetcher(OutboundClient(policy), Git(policy), tmp_path, download_bytes=1000, download_seconds=30)
    created = Refresher(fetcher.read, kept)
    yield created
    created.stop()


def source(web: WebServer, name: str) -> tuple[SourceEntry, str]:
    return SourceEntry(name=name, type="http", url=f"{web.url}/{name}.json"), ""


def test_a_source_that_hangs_delays_no_other(web: WebServer, kept: Kept, refresher: Refresher) -> None:
    refresher.refresh([source(web, "hangs")], 0.1)
    refresher.refresh([source(web, "good"), source(web, "absent")], 30)
    assert set(kept.outcomes) == {"good", "absent"}
    assert isinstance(kept.outcomes["good"][0], SourceContents)
    assert "404" in str(kept.outcomes["absent"][0])
    assert refresher.running_seconds(source(web, "hangs")[0]) >= 0.1
    assert refresher.running_seconds(source(web, "good")[0]) == 0.0


def test_a_source_that_is_being_read_is_not_read_twice(web: WebServer, kept: Kept, refresher: Refresher) -> None:
    refresher.refresh([source(web, "hangs")], 0.2)
    refresher.refresh([source(web, "hangs")], 0.2)
    assert [path for path, _ in web.requests] == ["/hangs.json"]
    refresher.refresh([source(web, "good")], 10)
    refresher.refresh([source(web, "good")], 10)
    assert len(kept.outcomes["good"]) == 2


def test_a_source_is_read_once_a_thread_can_be_started(web: WebServer, kept: Kept, refresher: Refresher) -> None:
    with no_new_threads(), pytest.raises(RuntimeError):
        refresher.refresh([source(web, "good")], 10)
    refresher.refresh([source(web, "good")], 10)
    assert len(kept.outcomes["good"]) == 1


def test_one_thread_stores_all_outcomes(web: WebServer, kept: Kept, refresher: Refresher) -> None:
    names = [f"missing-{number}" for number in range(20)]
    refresher.refresh([source(web, name) for name in names], 30)
    assert set(kept.outcomes) == set(names)
    assert kept.threads == {"sources"}


def test_a_stop_does_not_wait_for_a_source_that_hangs(web: WebServer, kept: Kept, refresher: Refresher) -> None:
    refresher.refresh([source(web, "hangs")], 0.1)
    refresher.stop()
    assert kept.outcomes == {}
