"""Searches that come together: in order of arrival, on every processor, never before what needs no search."""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from registry.config.settings import load_settings
from registry.errors import ClientGoneError, RegistryError
from registry.http.request_state import request_state
from registry.http.search_turns import SearchTurns
from registry.server.app import create_app
from registry.server.run import wrapped
from registry.services.container import Services
from registry.services.search import SearchTask
from support.asgi import ask
from support.servers import write_skill

Test = Callable[..., Coroutine[Any, Any, None]]

AT_HAND: Any = SimpleNamespace(is_local=True, is_away=False)
SEARCH, RESOLVE = "/api/v1/search", "/api/v1/resolve"


def asynchronous(test: Test) -> Callable[..., None]:
    """Run a test in an event loop of its own."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


class Searches:
    """Searches whose end the test decides: `begun` has them in the order in which they began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.gate = threading.Event()

    def task(self, name: str, *, waits: bool = False, at_once: bool = False) -> SearchTask[str]:
        """Return a search that ends when `gate` is set, or one that also could end at once."""
        return SearchTask(lambda: waits, lambda: self._at_once(name) if at_once else None, lambda: self._search(name))

    def _at_once(self, name: str) -> str:
        self.begun.append(name)
        return "on the event loop"

    def _search(self, name: str) -> str:
        self.begun.append(name)
        assert self.gate.wait(60)
        return "in a thread"


@pytest.fixture
def searches() -> Iterator[Searches]:
    made = Searches()
    yield made
    made.gate.set()


async def started(*searches: Coroutine[Any, Any, str]) -> list[asyncio.Task[str]]:
    """Start searches one after the other, as requests arrive."""
    tasks = []
    for search in searches:
        tasks.append(asyncio.create_task(search))
        await asyncio.sleep(0)
    return tasks


@asynchronous
async def test_searches_begin_in_the_order_of_their_arrival(searches: Searches) -> None:
    turns = SearchTurns(AT_HAND, threads=1, queue=10)
    names = ["long", "short", "long again", "shorter"]
    waiting = await started(*(turns.run({}, searches.task(name, at_once="short" in name)) for name in names))
    searches.gate.set()
    assert await asyncio.gather(*waiting) == ["in a thread"] * 4
    assert searches.begun == names


@asynchronous
async def test_a_search_alone_runs_on_the_event_loop_and_those_that_come_together_in_threads(
    searches: Searches,
) -> None:
    turns = SearchTurns(AT_HAND, threads=2, queue=10)
    searches.gate.set()
    assert await turns.run({}, searches.task("alone", at_once=True)) == "on the event loop"
    assert await turns.run({}, searches.task("alone again", at_once=True)) == "on the event loop"
    together = [turns.run({}, searches.task(str(number), at_once=True)) for number in range(12)]
    assert (await asyncio.gather(*together))[-8:] == ["in a thread"] * 8
    later = [await turns.run({}, searches.task("alone", at_once=True)) for _ in range(40)]
    assert later[0] == "in a thread"
    assert later[-1] == "on the event loop"


@asynchronous
async def test_more_than_may_wait_are_refused(searches: Searches) -> None:
    turns = SearchTurns(AT_HAND, threads=2, queue=3)
    waiting = await started(*(turns.run({}, searches.task(str(number))) for number in range(5)))
    with pytest.raises(RegistryError) as refused:
        await turns.run({}, searches.task("one too many"))
    assert (refused.value.status, int(refused.value.headers["Retry-After"]) > 0) == (503, True)
    searches.gate.set()
    await asyncio.gather(*waiting)
    assert await turns.run({}, searches.task("later")) == "in a thread"
    assert "one too many" not in searches.begun


@asynchronous
async def test_for_a_caller_that_has_left_there_is_no_search(searches: Searches) -> None:
    turns = SearchTurns(AT_HAND, threads=1, queue=10)
    has_left = threading.Event()
    scope: dict[str, Any] = {}
    request_state(scope).is_gone = has_left.is_set
    first, left, last = await started(
        turns.run({}, searches.task("first")),
        turns.run(scope, searches.task("left")),
        turns.run({}, searches.task("last")),
    )
    has_left.set()
    searches.gate.set()
    with pytest.raises(ClientGoneError):
        await left
    await asyncio.gather(first, last)
    assert searches.begun == ["first", "last"]


@asynchronous
async def test_a_request_that_is_cancelled_gives_its_place_up(searches: Searches) -> None:
    turns = SearchTurns(AT_HAND, threads=1, queue=1)
    first, second = await started(turns.run({}, searches.task("first")), turns.run({}, searches.task("second")))
    second.cancel()
    await asyncio.wait([second])
    (third,) = await started(turns.run({}, searches.task("third")))
    searches.gate.set()
    await asyncio.gather(first, third)
    assert searches.begun == ["first", "third"]


@asynchronous
async def test_a_search_that_waits_for_others_takes_no_turn(searches: Searches) -> None:
    turns = SearchTurns(AT_HAND, threads=1, queue=1)
    waiting = await started(*(turns.run({}, searches.task("provider", waits=True)) for _ in range(6)))
    assert await turns.run({}, searches.task("here", at_once=True)) == "on the event loop"
    searches.gate.set()
    assert await asyncio.gather(*waiting) == ["in a thread"] * 6


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms.")
    flags = {
        "skills_dir": str(tmp_path / "skills"),
        "data_dir": str(tmp_path),
        "embedding.provider": "none",
        "limits.searches_waiting": 3,
    }
    made = Services(load_settings(flags, {}))
    made.begin()
    assert made.ready.wait(60)
    yield made
    made.close()


@asynchronous
async def test_probes_answers_from_memory_and_the_catalog_never_wait_behind_searches(
    services: Services, searches: Searches
) -> None:
    app = create_app(services)
    site, turns = wrapped(app, services), app.state.searches
    known = b'{"query": "pdf forms"}'
    first = await ask(site, "POST", SEARCH, known)
    busy = await started(*(turns.run({}, searches.task(str(number))) for number in range(turns.threads)))
    waiting = asyncio.create_task(ask(site, "POST", RESOLVE, b'{"prompt": "something new"}'))
    for path in ("/healthz", "/readyz", "/api/v1/status", "/api/v1/skills/pdf-forms"):
        assert (await ask(site, "GET", path)).status == 200
    assert (await ask(site, "POST", SEARCH, known)).body == first.body
    assert not waiting.done()
    searches.gate.set()
    assert (await waiting).json["data"]["query"] == "something new"
    await asyncio.gather(*busy)
    turns.close()


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8"])
@pytest.mark.parametrize(("path", "body"), [(SEARCH, b'{"query": "new"}'), (RESOLVE, b'{"prompt": "new"}')])
@asynchronous
async def test_a_search_too_many_is_answered_with_503(
    services: Services, searches: Searches, path: str, body: bytes, content_type: str
) -> None:
    app = create_app(services)
    site, turns = wrapped(app, services), app.state.searches
    busy = await started(*(turns.run({}, searches.task(str(number))) for number in range(turns.threads + 3)))
    answer = await ask(site, "POST", path, body, content_type)
    assert answer.status == 503
    assert answer.json["error"]["code"] == "SERVICE_UNAVAILABLE"
    assert int(answer.headers["retry-after"]) > 0
    searches.gate.set()
    await asyncio.gather(*busy)
    assert (await ask(site, "POST", path, body, content_type)).status == 200
    turns.close()
