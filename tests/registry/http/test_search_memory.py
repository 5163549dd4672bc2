"""Different searches of one caller take a bounded amount of memory."""

from pathlib import Path

from support.servers import RunningServer, write_skill

SEARCHES = 3000
LARGEST_GROWTH = 85_000_000
"""Bytes: the caches have 48 MiB, and the interpreter does not return all that it has freed."""


def test_different_searches_take_bounded_memory(tmp_path: Path) -> None:
    for number in range(90):
        write_skill(tmp_path / "skills", f"skill-{number}", f"Fills in forms. {'word ' * 80}")
    with RunningServer(tmp_path) as server:
        search(server, "forms")
        before = memory(server)
        for number in range(SEARCHES):
            search(server, f"forms {number:x} {'otter ' * (number % 50)}")
        assert memory(server) - before < LARGEST_GROWTH


def search(server: RunningServer, query: str) -> None:
    """Send a search whose request and response are as large as those that are cached."""
    body = {"query": query, "limit": 60, "ignored": "x" * 7000}
    answer = server.api("POST", "/search", json=body, headers={"Accept-Encoding": "identity"})
    assert answer.status_code == 200
    assert len(answer.content) > 40_000


def memory(server: RunningServer) -> int:
    """Return the resident memory of a server in bytes."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])
