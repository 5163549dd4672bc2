"""A database server that stalls: its processes are stopped, or the network holds the packets back."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx
import pytest

from support.holding_proxy import HoldingProxy
from support.postgres_server import PostgresServer
from support.replicas import replica
from support.servers import RunningServer, bearer, new_skill
from support.waiting import wait_until

_QUICK = {"SKILL_REGISTRY_DATABASE_STATEMENT_SECONDS": "2", "SKILL_REGISTRY_DATABASE_ANSWER_SECONDS": "3"}
_CALLERS = 60
"""More than threads and connections, so that whatever needs one of them waits."""

Stall = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def server_and_stall(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[RunningServer, Stall]]:
    profile, how = request.param
    with PostgresServer() as database, HoldingProxy("127.0.0.1", database.port) as proxy:
        name = database.new_database().rpartition("/")[2]

        @contextmanager
        def held() -> Iterator[None]:
            proxy.hold()
            yield
            proxy.release()

        url = database.url(name, proxy.port)
        with replica(tmp_path, url, "--profile", profile, **_QUICK) as server:
            yield server, (held if how == "held packets" else database.stopped_processes)


def _all(server: RunningServer, threads: ThreadPoolExecutor) -> list[Future[httpx.Response]]:
    """Send requests that need the database, of all kinds, at the same time."""
    requests: list[tuple[str, str, object]] = [
        ("GET", "/api/v1/skills/kept", None),
        ("GET", "/api/v1/skills", None),
        ("GET", "/v1/skills/kept", None),
        ("POST", "/api/v1/search", {"query": "never searched before"}),
        ("POST", "/api/v1/resolve", {"prompt": "never resolved before"}),
        ("GET", "/api/v1/skills/kept/content", None),
        ("POST", "/api/v1/skills", new_skill("new-one")),
        ("GET", "/api/v1/status", None),
    ]
    some = [requests[number % len(requests)] for number in range(_CALLERS)]
    return [threads.submit(server.http.request, method, path, json=body) for method, path, body in some]


@pytest.mark.parametrize(
    "server_and_stall",
    [("local", "stopped processes"), ("local", "held packets"), ("registry", "stopped processes")],
    indirect=True,
    ids=["local-stopped", "local-held", "registry-stopped"],
)
def test_a_stalled_database_costs_503_and_nothing_else(server_and_stall: tuple[RunningServer, Stall]) -> None:
    server, stall = server_and_stall
    is_registry = "registry" in server.command()
    if is_registry:
        server.http.headers.update(bearer(server.token()))
    assert server.api("POST", "/skills", json=new_skill("kept")).status_code == 201
    assert server.found("pdf forms") == server.found("pdf forms") == ["kept"]  # the second time from memory
    assert server.http.get("/readyz").status_code == 200
    with ThreadPoolExecutor(_CALLERS) as threads, stall():
        waiting = _all(server, threads)
        for path in ("/healthz", "/", "/ui/js/app.js", "/llms.txt"):
            assert server.http.get(path).status_code == 200, path
        wait_until(lambda: server.http.get("/readyz").status_code == 503)
        assert server.http.get("/readyz").json() == {"status": "unavailable"}
        if not is_registry:  # whose caller may have been revoked, which only the database knows
            assert server.found("pdf forms") == ["kept"]
        answers = [each.result() for each in waiting]
        assert {answer.status_code for answer in answers if "status" not in answer.url.path} == {503}
        assert server.http.get("/healthz").status_code == 200
    wait_until(lambda: server.http.get("/readyz").status_code == 200)
    wait_until(lambda: server.api("GET", "/skills/kept").status_code == 200)
    wait_until(lambda: server.api("POST", "/skills", json=new_skill("after")).status_code == 201)
    assert sorted(server.found("pdf forms")) == ["after", "kept"]
    assert server.stop() == 0
