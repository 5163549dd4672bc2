"""The service with Milvus: a write is found at once, and in words while Milvus is away."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from registry.database.file_claims import hold
from registry.milvus.vectors import MilvusVectors
from support.bert_folder import write_bert_folder
from support.milvus_server import MilvusServer
from support.servers import RunningServer, write_skill
from support.vectors import VectorFeed, put
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


@pytest.fixture
def milvus_alone(tmp_path: Path) -> Iterator[MilvusServer]:
    """A Milvus of one test, which ends it as it likes."""
    with MilvusServer(tmp_path / "milvus") as server:
        yield server


def arguments(milvus: MilvusServer, *more: str) -> tuple[str, ...]:
    return ("--search-vectors", "milvus", "--search-milvus-uri", milvus.uri, "--embedding-provider", "local", *more)


def test_milvus_goes_away_and_loses_nothing(tmp_path: Path, milvus_alone: MilvusServer) -> None:
    write_skill(tmp_path / "skills", "backup", "Save a folder to an encrypted archive.")
    with RunningServer(tmp_path, *arguments(milvus_alone)) as server:
        wait_until(lambda: ran(server, "protect documents") == "hybrid", why=lambda: server.status()["embedding"])
        created(server, "invoices", "Make invoices for customers.")
        wait_until(lambda: server.status()["pending"] == 0)
        assert (ran(server, "bill a client"), server.status()["drift"]) == ("hybrid", 0)
        milvus_alone.kill()
        created(server, "pictures", "Crop and rotate pictures.")
        answer = server.search("rotate pictures")
        assert (answer["mode"], answer["skills"][0]["skill"]["name"]) == ("keyword", "pictures")
        assert any("degraded: keyword search only" in warning for warning in answer["warnings"])
        assert server.api("POST", "/search", json={"query": "turn photos", "mode": "semantic"}).status_code == 503
        wait_until(lambda: server.status()["pending"] == 0)
        server.kill()  # between the commit and Milvus
    milvus_alone.start()
    with RunningServer(tmp_path, *arguments(milvus_alone)) as server:
        wait_until(lambda: ran(server, "turn photos") == "hybrid", why=lambda: server.status()["embedding"])
        assert (server.found("turn photos")[0].endswith("pictures"), server.status()["drift"]) == (True, 0)


def test_it_starts_without_milvus_and_finds_it_later(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "backup", "Save a folder to an encrypted archive.")
    milvus = MilvusServer(tmp_path / "milvus")
    with RunningServer(tmp_path, *arguments(milvus)) as server:
        assert ran(server, "encrypted archive") == "keyword"
        with milvus:
            wait_until(lambda: ran(server, "encrypted archive") == "hybrid", why=lambda: server.status()["embedding"])


def test_calls_are_counted(tmp_path: Path, milvus_alone: MilvusServer) -> None:
    write_skill(tmp_path / "skills", "backup", "Save a folder to an encrypted archive.")
    with RunningServer(tmp_path, *arguments(milvus_alone, "--profile", "registry")) as server:
        server.sign_in("manager")
        wait_until(lambda: ran(server, "protect") == "hybrid", why=lambda: server.status()["embedding"])
        before = figures(server)
        assert (before["calls search"], before["failures search"], before["behind"]) == (1, 0, 0)
        assert before["calls upsert"] >= 2
        assert 0 < before["seconds search"] < 60
        milvus_alone.kill()
        body = {"id": "late", "name": "late", "version": "1.0.0", "description": "Comes late."}
        assert server.api("POST", "/skills", json=body).status_code == 201
        wait_until(lambda: figures(server)["behind"] > 0 and server.status()["pending"] == 0)
        assert sum(value for name, value in figures(server).items() if name.startswith("failures")) > 0
        milvus_alone.start()
        wait_until(lambda: figures(server)["behind"] == 0, why=server.status)


def figures(server: RunningServer) -> dict[str, float]:
    """Return the metrics of Milvus, each by its short name and its method."""
    families = text_string_to_metric_families(server.http.get("/metrics").text)
    samples = [sample for family in families for sample in family.samples]
    prefix = "skill_registry_milvus_"
    return {
        " ".join((sample.name.removeprefix(prefix).removesuffix("_total"), *sample.labels.values())): sample.value
        for sample in samples
        if sample.name.startswith(prefix)
    }


def test_a_restored_catalog_is_copied_again(tmp_path: Path, milvus: MilvusServer) -> None:
    write_skill(tmp_path / "skills", "backup", "Save a folder to an encrypted archive.")
    data, kept = tmp_path / "data", tmp_path / "kept"
    with RunningServer(tmp_path, *arguments(milvus)) as server:
        wait_until(lambda: ran(server, "protect documents") == "hybrid", why=lambda: server.status()["embedding"])
    shutil.copytree(data, kept)
    with RunningServer(tmp_path, *arguments(milvus)) as server:
        for name in ("pictures", "photos", "images"):
            created(server, name, "Crop and rotate pictures.")
        wait_until(lambda: server.status()["pending"] == 0 and server.status()["drift"] == 0)
    shutil.rmtree(data)
    for name in ("pictures", "photos", "images"):
        shutil.rmtree(tmp_path / "skills" / name)
    shutil.copytree(kept, data, ignore=shutil.ignore_patterns("indexes"))
    with RunningServer(tmp_path, *arguments(milvus)) as server:
        wait_until(lambda: ran(server, "protect documents") == "hybrid", why=lambda: server.status()["embedding"])
        created(server, "invoices", "Make invoices for customers.")  # with the key that `pictures` had
        wait_until(lambda: server.status()["pending"] == 0)
        found = server.search("rotate my photos")
        assert (found["mode"], server.status()["drift"]) == ("hybrid", 0)
        assert server.found("bill a client")[0].endswith("invoices")
    assert "an older one was restored, and is copied again" in server.log.read_text()


def test_the_collection_of_a_former_model_is_removed(tmp_path: Path, milvus: MilvusServer) -> None:
    def names() -> set[str]:
        return set(connection.call("list_collections"))

    connection = milvus.connection()
    outsider = MilvusVectors(connection, VectorFeed("other"), "local/former", 32, partial(hold, tmp_path / "claims"))
    put(outsider, [1], np.eye(1, 32, dtype=np.float32))
    others = names()
    write_skill(tmp_path / "skills", "backup", "Save a folder to an encrypted archive.")
    seen = []
    for seed in (1, 2):
        model = write_bert_folder(tmp_path / f"model-{seed}", seed)
        with RunningServer(tmp_path, *arguments(milvus, "--embedding-model", str(model))) as server:
            wait_until(partial(_is_hybrid, server), why=lambda: names() - others)
            wait_until(lambda: len(names() - others) == 1, why=lambda: names() - others)
            seen.append(names() - others)
    assert (seen[0] & seen[1], others - names(), len(outsider)) == (set(), set(), 1)
    connection.close()


def _is_hybrid(server: RunningServer) -> bool:
    return ran(server, "protect") == "hybrid"
