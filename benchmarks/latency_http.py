"""What the service takes over HTTP, and a bare route that answers the same bytes."""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import load

THROUGHPUT_REQUESTS = 2000
CLIENTS = (1, 8, 32)
BLOCK = 25
ROUNDS = 4
Figures = dict[str, float]

BARE = """
import sys
import uvicorn
from litestar import Litestar, Response, get

BODY = open(sys.argv[2], "rb").read()

@get("/bare", sync_to_thread=False)
def bare() -> Response[bytes]:
    return Response(BODY, media_type="application/json")

uvicorn.run(Litestar([bare], logging_config=None), port=int(sys.argv[1]), log_level="error", access_log=False)
"""


_IDLE_SECONDS = 2.0


def processor_seconds(pid: int) -> float:
    """Return the seconds of processor that a process has taken so far."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Served:
    """A server process on a free port of loopback."""

    def __init__(self, command: Sequence[str], ready_path: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        started = time.perf_counter()
        self.process = subprocess.Popen([part.replace("{port}", str(self.port)) for part in command])
        while True:
            try:
                self.get(ready_path)
                break
            except OSError:
                if self.process.poll() is not None or time.perf_counter() - started > 600:
                    raise
                time.sleep(0.01)
        self.seconds_to_ready = time.perf_counter() - started

    def get(self, path: str) -> bytes:
        """Return the body of an answer."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            body: bytes = answer.read()
            return body

    def wait_until_idle(self) -> float:
        """Wait until two seconds take less than a twentieth of a processor; return how many seconds passed before."""
        started = time.perf_counter()
        while True:
            waited, busy = time.perf_counter() - started, processor_seconds(self.process.pid)
            time.sleep(_IDLE_SECONDS)
            if processor_seconds(self.process.pid) - busy < _IDLE_SECONDS / 20:
                return waited

    def rss_mb(self) -> float:
        """Return the process's resident memory in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def stop(self) -> None:
        """End the process."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def median_ms(call: Callable[[str], object], queries: Sequence[str]) -> float:
    """Return the median of how many milliseconds `call` takes for each query."""
    return statistics.median(_times_ms(call, queries))


def _times_ms(call: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    times = []
    for query in queries:
        started = time.perf_counter()
        call(query)
        times.append((time.perf_counter() - started) * 1000)
    return times


def in_turn(
    port: int, request: Callable[[str], bytes], directly: Callable[[str], object], queries: Sequence[str]
) -> tuple[float, float]:
    """Return two medians in milliseconds: of the request for each query, and of `directly` with it.

    A few of one and the same few of the other take turns, since a machine's speed changes from one second to the next.
    After the first round queries have a number behind them, so that each is new.
    """
    asked: list[float] = []
    called: list[float] = []
    rounds = [*queries, *(f"{query} {number}" for number in range(1, ROUNDS) for query in queries)]
    for start in range(0, len(rounds), BLOCK):
        some = rounds[start : start + BLOCK]
        asked += load.run(port, [request(query) for query in some]).latencies
        called += _times_ms(directly, some)
    return statistics.median(asked), statistics.median(called)


def over_http(
    data_dir: Path, models: Path, queries: Sequence[str], directly: Callable[[str], object]
) -> tuple[Figures, Figures]:
    """Return figures of the service over HTTP, with `directly` beside it, and of a bare route answering the same."""
    empty = data_dir / "skills"
    empty.mkdir(exist_ok=True)
    command = [
        str(Path(sys.executable).with_name("skill-registry")), "serve", "--host", "127.0.0.1", "--port", "{port}",
        "--skills-dir", str(empty), "--data-dir", str(data_dir), "--log-level", "warning",
    ]  # fmt: skip
    if not (data_dir / "models").exists():
        (data_dir / "models").symlink_to(models)
    Served(command, "/api/v1/search?q=first").stop()
    server = Served(command, "/api/v1/search?q=first")
    figures: Figures = {"second start, seconds": server.seconds_to_ready}

    def asking(query: str, mode: str = "hybrid") -> bytes:
        return load.request("/api/v1/search", server.port, json.dumps({"query": query, "mode": mode}).encode())

    def bodies(mode: str, suffix: str = "") -> list[bytes]:
        return [asking(f"{query}{suffix}", mode) for query in queries]

    answer = server.get("/api/v1/search?q=" + urllib.request.quote(queries[0]))
    figures["hybrid p50"], figures["parts in turn"] = in_turn(server.port, asking, directly, queries)
    figures["words p50"] = load.run(server.port, bodies("keyword")).p50
    figures["hybrid p50, cached vector"] = load.run(server.port, bodies("hybrid")).p50
    for clients in CLIENTS:
        for mode, label in (("keyword", "words"), ("hybrid", "cached hybrid")):
            several = (bodies(mode) * (THROUGHPUT_REQUESTS // len(queries) + 1))[:THROUGHPUT_REQUESTS]
            figures[f"{label}, requests/s at {clients}"] = load.run(server.port, several, clients).throughput
        fresh = bodies("hybrid", suffix=f" again, {clients}")
        figures[f"uncached hybrid, requests/s at {clients}"] = load.run(server.port, fresh, clients).throughput
    figures["RSS, MB"] = server.rss_mb()
    server.stop()
    return figures, _bare(answer, data_dir)


def _bare(answer: bytes, folder: Path) -> Figures:
    """Return the throughput of a Litestar route that does nothing but answer these bytes."""
    (folder / "answer.json").write_bytes(answer)
    server = Served([sys.executable, "-c", BARE, "{port}", str(folder / "answer.json")], "/bare")
    requests = [load.request("/bare", server.port)] * THROUGHPUT_REQUESTS
    figures = {f"requests/s at {clients}": load.run(server.port, requests, clients).throughput for clients in CLIENTS}
    figures["p50"] = load.run(server.port, requests).p50
    server.stop()
    return figures
