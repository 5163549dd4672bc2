"""The service with Milvus: a write is found at once, and in words while Milvus is away."""

from pathlib import Path
from typing import Any

import pytest

from support.milvus_server import MilvusServer
from support.servers import RunningServer, write_skill
from support.waiting import wait_until

pytestmark = pytest.mark.outside


def ran(server: RunningServer, query: str) -> str:
    return str(server.search(query)["mode"])


def created(server: RunningServer, name: str, text: str) -> None:
    body: dict[str, Any] = {
        "id": name,
        "version": "1.0.0",
        "name": name,
        "description": text,
        "body": f"# {name}\n\n{text}",
    }
    answer = server.api("POST", "/skills", json=body)
    assert answer.status_code == 201, answer.text


def test_milvus_goes_away_and_loses_nothing(tmp_path: Path) -> None:
    milvus = MilvusServer(tmp_path).start()
    write_skill(tmp_path / "skills", "backup", "Save a folder to an encrypted archive.")
    arguments = ("--embedding-provider", "local", "--search-vectors", "milvus", "--search-milvus-uri", milvus.uri)
    running = RunningServer(tmp_path, *arguments)
    with running as server:
        wait_until(lambda: ran(server, "protect documents") == "hybrid", why=lambda: server.status()["embedding"])
        created(server, "invoices", "Make invoices for customers.")
        wait_until(lambda: server.status()["pending"] == 0)
        assert (ran(server, "bill a client"), server.status()["drift"]) == ("hybrid", 0)
        milvus.kill()
        created(server, "pictures", "Crop and rotate pictures.")
        answer = server.search("rotate pictures")
        assert (answer["mode"], answer["skills"][0]["skill"]["name"]) == ("keyword", "pictures")
        assert any("degraded: keyword search only" in warning for warning in answer["warnings"])
        assert server.api("POST", "/search", json={"query": "turn photos", "mode": "semantic"}).status_code == 503
        wait_until(lambda: server.status()["pending"] == 0)
        server.kill()  # between the commit and Milvus
    milvus.start()
    with RunningServer(tmp_path, *arguments) as server:
        wait_until(lambda: ran(server, "turn photos") == "hybrid", why=lambda: server.status()["embedding"])
        assert (server.found("turn photos")[0].endswith("pictures"), server.status()["drift"]) == (True, 0)
    milvus.kill()


def test_it_starts_without_milvus_and_finds_it_later(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "backup", "Save a folder to an encrypted archive.")
    milvus = MilvusServer(tmp_path)
    arguments = ("--embedding-provider", "local", "--search-vectors", "milvus", "--search-milvus-uri", milvus.uri)
    with RunningServer(tmp_path, *arguments) as server:
        assert ran(server, "encrypted archive") == "keyword"
        with milvus:
            wait_until(lambda: ran(server, "encrypted archive") == "hybrid", why=lambda: server.status()["embedding"])
