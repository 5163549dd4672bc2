"""Workers share the limits of a caller: together they accept at most 5 % more than one would."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.raw_http import Connection, request
from support.servers import RunningServer

CONNECTIONS = 40
REQUESTS = 3000
READS, WRITES = 1000, 200


@pytest.mark.parametrize(
    ("limit", "status", "method", "path"),
    [(READS, 200, "GET", "/api/v1/skills?limit=1"), (WRITES, 404, "DELETE", "/api/v1/skills/absent")],
    ids=["reads", "writes"],
)
def test_two_workers_accept_what_one_would(tmp_path: Path, limit: int, status: int, method: str, path: str) -> None:
    limits = ("--limits-reads-per-minute", str(READS), "--limits-writes-per-minute", str(WRITES))
    with RunningServer(tmp_path, "--profile", "registry", "--workers", "2", *limits) as server:
        message = request(method, path, f"Authorization: Bearer {server.token()}")
        port = urlsplit(server.url).port
        assert port is not None

        def accepted(_: int) -> int:
            with Connection(port) as connection:
                return sum(connection.ask(message).status == status for _ in range(REQUESTS // CONNECTIONS))

        with ThreadPoolExecutor(CONNECTIONS) as threads:
            total = sum(threads.map(accepted, range(CONNECTIONS)))
        assert limit <= total <= 1.05 * limit
