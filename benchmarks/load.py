"""A small HTTP load generator for loopback: keep-alive connections, latencies of every request. Bounded by count."""

import asyncio
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import uvloop


class Load(NamedTuple):
    """What a run of requests took. Latencies are milliseconds, throughput is requests a second."""

    latencies: list[float]
    p50: float
    p95: float
    p99: float
    throughput: float
    bytes_each: float


def request(path: str, port: int, body: bytes | None = None) -> bytes:
    """Return the bytes of a request: GET, or POST of JSON."""
    head = f"{'POST' if body is not None else 'GET'} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + (body or b"")


async def _client(port: int, requests: Iterator[bytes], latencies: list[float], sizes: list[int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for one in requests:
            started = time.perf_counter()
            writer.write(one)
            sizes.append(await _answer(reader))
            latencies.append((time.perf_counter() - started) * 1000)
    finally:
        writer.close()
        await writer.wait_closed()


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    if status != 200:
        raise RuntimeError(f"the server answered {status}: {head!r}")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    await reader.readexactly(length)
    return length


async def _run(port: int, requests: Sequence[bytes], clients: int) -> Load:
    latencies: list[float] = []
    sizes: list[int] = []
    started = time.perf_counter()
    waiting = iter(requests)  # of all clients: who has an answer sends the next one
    await asyncio.gather(*(_client(port, waiting, latencies, sizes) for _ in range(clients)))
    seconds = time.perf_counter() - started
    cuts = statistics.quantiles(latencies, n=100)
    return Load(latencies, cuts[49], cuts[94], cuts[98], len(latencies) / seconds, statistics.mean(sizes))


def run(port: int, requests: Sequence[bytes], clients: int = 1) -> Load:
    """Send every request over `clients` connections to a server on loopback; return what it took.

    Raises RuntimeError when an answer is not 200.
    """
    # uvloop, so that little of what is measured is the client's own work.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(port, requests, clients))
