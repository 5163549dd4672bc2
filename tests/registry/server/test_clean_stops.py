"""A stop ends with code 0, in whatever phase the signal comes and however busy the machine is."""

import itertools
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from registry.runtime.data_dir import DataDirLock
from support.endurance import times
from support.processes import start
from support.raw_http import TinyServer, request, tiny_server
from support.servers import RunningServer
from support.waiting import PATIENCE_SECONDS, wait_until

PROBE = request("GET", "/readyz")
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def held(server: TinyServer) -> Iterator[Callable[[], None]]:
    """Keep a request in flight until the block calls what it gets, and check that it is answered."""
    with tempfile.TemporaryDirectory() as folder, server.connect() as connection:
        gate = Path(folder) / "gate"
        connection.send(request("GET", f"/api/v1/held?gate={gate}"))
        wait_until(gate.with_suffix(".begun").exists)
        yield gate.touch
        assert connection.answer().json["data"] == "done"


def at_once(server: TinyServer, number: int) -> None:
    server.stop(number)


def idle(server: TinyServer, number: int) -> None:
    with server.connect() as connection:
        assert connection.ask(PROBE).status == 200
        server.stop(number)
        assert connection.rest() == b""


def half_a_request(server: TinyServer, number: int) -> None:
    with server.connect() as connection:
        connection.send(PROBE[:20])
        server.stop(number)
        server.exit_code()


def in_flight(server: TinyServer, number: int) -> None:
    with held(server) as finish:
        server.stop(number)
        server.wait_for_line("Stopping: [01] requests")
        finish()


def during_the_drain(server: TinyServer, number: int) -> None:
    with held(server) as finish:
        server.stop(number)
        server.wait_for_line("Stopping")
        wait_until(lambda: server.ask(PROBE).status == 503)
        finish()


def twice(server: TinyServer, number: int) -> None:
    server.stop(number)
    time.sleep(0.01)
    server.stop(number)


def twice_in_the_drain(server: TinyServer, number: int) -> None:
    server.stop(number)
    server.wait_for_line("Stopping")
    server.stop(number)


PHASES = (at_once, idle, half_a_request, in_flight, during_the_drain, twice, twice_in_the_drain)
CASES = tuple(itertools.product((1, 2), SIGNALS, PHASES))
FEW = [*CASES[: len(CASES) // 2], *itertools.product((2,), SIGNALS, (at_once, in_flight, twice_in_the_drain))]
"""Two workers take six times as long to start."""


def stopped(workers: int, number: int, phase: Callable[[TinyServer, int], None]) -> str:
    """Start a server, stop it in a phase, and return what is wrong, empty if its exit code is 0."""
    with tiny_server(workers=workers) as server:
        phase(server, number)
        code = server.process.wait(3 * PATIENCE_SECONDS)
        server.read_to_end()
        return "" if code == 0 else f"{phase.__name__}, {workers} workers, signal {number}: code {code}\n{server.lines}"


def test_a_stop_in_every_phase_exits_with_0() -> None:
    with ThreadPoolExecutor(3) as threads:
        assert not [*filter(None, threads.map(lambda case: stopped(*case), FEW))]


@pytest.mark.endurance
def test_hundreds_of_stops_under_load_exit_with_0() -> None:
    cases = itertools.islice(itertools.cycle(CASES), times(200))
    with ThreadPoolExecutor(16) as threads:
        assert not [*filter(None, threads.map(lambda case: stopped(*case), cases))]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_stop_while_the_start_waits_for_the_data_directory_exits_with_0(tmp_path: Path, number: int) -> None:
    server = RunningServer(tmp_path)
    lock = DataDirLock.wait(server.data_dir)
    try:
        with server.log.open("ab") as log:
            process = start(server.command(), server.environment(), stderr=log.fileno())
        wait_until(lambda: "waiting for it" in server.log.read_text())
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == 0, server.log.read_text()
    finally:
        lock.release()


@pytest.mark.parametrize("where", ["thread", "closing"])
def test_what_does_not_end_by_itself_does_not_fail_a_stop(where: str) -> None:
    with tiny_server(stuck_at=where) as server:
        assert server.ask(request("GET", "/api/v1/thread")).status == 200
        server.stop()
        assert server.exit_code() == 0
        server.read_to_end()
        assert "without waiting more than" in "".join(server.lines)
