"""Attacks on a running service, one after the other: what `/healthz` feels and how much memory the service takes.

    python benchmarks/attacks.py [--seconds 10] [--clients 4] [--only NAME …] [--source DIR] [--json OUT]

Each attack runs with hostile clients that have no credential, against a service that the benchmark starts. Meanwhile
`/healthz` is asked on a new connection, 50 times a second. The same figures without an attack come first, in the same
run: other programs on the machine slow both alike. `--source` measures another checkout of the repository.

An attack is a function of `ATTACKS` that sends on one connection until the other side closes it; it is called again
until the time is over. To add one, write the function and name it there.
"""

import argparse
import contextlib
import multiprocessing
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from latency_http import Served
from results_file import keep

_PROBES_A_SECOND = 50
_PAGE = os.sysconf("SC_PAGE_SIZE")
_CHUNKED = b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
_SMALL = b"GET /x HTTP/1.1\r\nHost:a\r\n\r\n"

Attack = Callable[[socket.socket, float], None]
"""Sends on a connection until `time.monotonic()` has reached a moment, or an OSError."""


def _endless(begin: bytes, piece: bytes, *, connections: int = 1, rest: float = 0) -> Attack:
    """Return an attack that sends the same bytes again and again, also on more connections of the same client.

    `rest` are the seconds between two rounds over all connections. A client that sends single bytes without a rest
    takes a whole processor, which a client on another machine does not.
    """

    def attack(first: socket.socket, until: float) -> None:
        with contextlib.ExitStack() as stack:
            more = [stack.enter_context(_connected(first.getpeername()[1])) for _ in range(connections - 1)]
            for connection in (first, *more):
                connection.sendall(begin)
            waiting = [first, *more]
            while time.monotonic() < until and waiting:
                waiting = [connection for connection in waiting if _takes(connection, piece)]
                time.sleep(rest)

    return attack


def _takes(connection: socket.socket, piece: bytes) -> bool:
    """Send what fits now, and return whether the connection is still open."""
    connection.settimeout(0.05)
    try:
        connection.sendall(piece)
    except TimeoutError:
        return True
    except OSError:
        return False
    return True


def _idle(first: socket.socket, until: float) -> None:
    """Open 250 connections, 1,000 with those of the other clients, and send nothing."""
    port = first.getpeername()[1]
    with contextlib.ExitStack() as stack:
        for _ in range(250):
            stack.enter_context(_connected(port))
        time.sleep(max(0.0, min(5.0, until - time.monotonic())))


ATTACKS: Mapping[str, Attack] = {
    "endless value of a trailer": _endless(_CHUNKED + b"0\r\nX: ", b"a" * 65_536),
    "endless name of a trailer": _endless(_CHUNKED + b"0\r\n", b"a" * 65_536),
    "many short trailers": _endless(_CHUNKED + b"0\r\n", b"a:b\r\n" * 13_000),
    "endless extension of a chunk": _endless(_CHUNKED + b"1;", b"a" * 65_536),
    "chunks of one byte": _endless(_CHUNKED, b"1\r\na\r\n" * 10_000),
    "line ends before a request": _endless(b"", b"\r\n" * 32_768),
    "bodies that no route reads": _endless(
        b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", b"a" * 65_536
    ),
    "requests without a pause": _endless(b"", _SMALL * 9_000),
    "requests without a pause, 75 connections each": _endless(b"", _SMALL * 9_000, connections=75),
    "half a head": _endless(b"GET / HTTP/1.1\r\nX: ", b"a", connections=50, rest=0.001),
    "idle connections": _idle,
}


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def _hostile_client(port: int, attack: Attack, until: float) -> None:
    while time.monotonic() < until:
        with contextlib.suppress(OSError), _connected(port) as connection:
            attack(connection, until)
        time.sleep(0.001)


def _probe(port: int) -> float:
    """Return how many milliseconds `/healthz` takes on a new connection."""
    started = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = b""
        while received := connection.recv(4096):
            answer += received
    if not answer.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"/healthz answers {answer[:100]!r}")
    return (time.perf_counter() - started) * 1000


def measure(server: Served, attack: Attack | None, clients: int, seconds: float) -> dict[str, Any]:
    """Return what probes feel while hostile clients attack, and the memory of the service."""
    before, memory, times = _memory(server), 0, []
    until = time.monotonic() + seconds
    arguments = (server.port, attack, until)
    # Processes, so that they and the probes do not wait for one another.
    processes = multiprocessing.get_context("fork")
    hostile = [processes.Process(target=_hostile_client, args=arguments) for _ in range(clients if attack else 0)]
    for process in hostile:
        process.start()
    failed = 0
    while time.monotonic() < until:
        try:
            times.append(_probe(server.port))
        except OSError:
            failed += 1
        memory = max(memory, _memory(server))
        time.sleep(1 / _PROBES_A_SECOND)
    for process in hostile:
        process.join()
    times.sort()
    return {
        "healthz p50 ms": round(statistics.median(times), 2) if times else None,
        "healthz p99 ms": round(times[int(len(times) * 0.99)], 2) if times else None,
        "healthz worst ms": round(times[-1], 2) if times else None,
        "probes": len(times),
        "probes that failed": failed,
        "memory before MiB": round(before / 2**20, 1),
        "most memory MiB": round(memory / 2**20, 1),
    }


def _memory(server: Served) -> int:
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * _PAGE


@contextlib.contextmanager
def _service(source: Path | None) -> Iterator[Served]:
    with tempfile.TemporaryDirectory() as folder:
        if source is not None:
            os.environ["PYTHONPATH"] = str(source / "src")
        (Path(folder) / "skills").mkdir()
        command = [
            str(Path(sys.executable).with_name("skill-registry")), "serve", "--host", "127.0.0.1", "--port", "{port}",
            "--skills-dir", f"{folder}/skills", "--data-dir", f"{folder}/data", "--log-level", "error",
            "--embedding-provider", "none",
        ]  # fmt: skip
        server = Served(command, "/readyz")
        try:
            yield server
        finally:
            server.stop()


def main() -> None:
    """Run the attacks."""
    parser = argparse.ArgumentParser(description="Attack a running service, and measure what others feel.")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each attack")
    parser.add_argument("--clients", type=int, default=4, help="hostile clients")
    parser.add_argument("--only", nargs="*", help="names of attacks")
    parser.add_argument("--source", type=Path, help="another checkout whose src/ is served")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for name, attack in {"no attack": None, **ATTACKS}.items():
        if attack is None or not arguments.only or name in arguments.only:
            with _service(arguments.source) as server:
                results[name] = measure(server, attack, arguments.clients, arguments.seconds)
            print(f"{name}: {results[name]}", flush=True)
            keep(arguments.json, {"clients": arguments.clients, "seconds": arguments.seconds, "attacks": results})


if __name__ == "__main__":
    main()
