"""Compression: texts that zlib compresses slowly delay nobody, and what is sent is what was meant."""

import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from support.servers import RunningServer, write_skill

SLOW = "".join(random.Random(5).choices("ab", k=1_000_000))
"""A text of which zlib takes ten seconds at its highest level."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("compression")
    skill = write_skill(folder / "skills", "slowly", "Compresses slowly.", body=SLOW)
    (skill / "references").mkdir()
    (skill / "references" / "slow.txt").write_text(SLOW)
    (skill / "references" / "short.txt").write_text("short " * 1000)
    with RunningServer(folder) as running:
        yield running


@contextlib.contextmanager
def probing(server: RunningServer) -> Iterator[Callable[[], float]]:
    """Ask for `/healthz` all the time; yield a function that returns the longest wait so far."""
    waits, ended = [0.0], threading.Event()

    def probe() -> None:
        with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
            while not ended.wait(0.01):
                started = time.monotonic()
                client.get("/healthz")
                waits.append(time.monotonic() - started)

    thread = threading.Thread(target=probe)
    thread.start()
    try:
        yield lambda: max(waits)
    finally:
        ended.set()
        thread.join()


def cpu_seconds(server: RunningServer) -> float:
    """Return the processor time that the service has taken."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def read_file(server: RunningServer) -> str:
    return server.http.get("/tree/slowly/references/slow.txt").text


def read_stream(server: RunningServer) -> str:
    return server.api("GET", "/skills/slowly/files/references/slow.txt").text


def read_content(server: RunningServer) -> str:
    return str(server.api("GET", "/skills/slowly/content").json()["data"]["content"]).rpartition("---\n")[2]


def read_resource(server: RunningServer) -> str:
    params = {"uri": "skill://slowly/references/slow.txt"}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params}
    return str(server.http.post("/mcp", json=asked).json()["result"]["contents"][0]["text"])


def read_hit(server: RunningServer) -> str:
    return str(server.search("slowly", content="full")["skills"][0]["content"])


def read_resolved(server: RunningServer) -> str:
    answer = server.api("POST", "/resolve", json={"prompt": "slowly", "content": "full"})
    return str(answer.json()["data"]["results"][0]["content"])


@pytest.mark.parametrize("read", [read_file, read_stream, read_content, read_resource, read_hit, read_resolved])
def test_a_text_that_compresses_slowly_delays_nobody(
    server: RunningServer, read: Callable[[RunningServer], str]
) -> None:
    before = cpu_seconds(server)
    with probing(server) as longest_wait:
        assert read(server) == SLOW
    assert longest_wait() < 1
    assert cpu_seconds(server) - before < 3


@pytest.mark.parametrize("path", ["/api/v1/skills/slowly/content?format=html", "/tree/slowly/references/short.txt"])
def test_a_compressed_response_has_the_headers_of_one(server: RunningServer, path: str) -> None:
    plain = server.http.get(path, headers={"Accept-Encoding": "identity"})
    packed = server.http.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.content == plain.content
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert int(packed.headers["Content-Length"]) == packed.num_bytes_downloaded < len(plain.content) // 4
    assert "Content-Encoding" not in plain.headers
    assert int(plain.headers["Content-Length"]) == len(plain.content)
