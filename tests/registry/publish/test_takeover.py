"""If a replica is killed, another one finishes its work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.embedding_server import EmbeddingServer, honest
from support.postgres_server import PostgresServer
from support.publishing import Registry, index_file, skill_package
from support.replicas import SECRET
from support.servers import new_skill
from support.slow_answers import silence


@pytest.fixture
def provider() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def registries(
    postgres: PostgresServer, provider: EmbeddingServer, tmp_path: Path
) -> Iterator[tuple[Registry, Registry]]:
    """Two that share database, packages and index; the store is down until its path is a folder."""
    env = {**SECRET, "SKILL_REGISTRY_DATABASE_URL": postgres.new_database(), "OPENAI_API_KEY": "sk-canary-0123456789"}
    embedding = ("--embedding-provider", "hosted", "--embedding-base-url", provider.url)
    limits = ("--limits-publish-tries", "100")
    shared = ("--blobs-dir", str(tmp_path / "blobs"))
    (tmp_path / "blobs").touch()
    with Registry(tmp_path / "one", *embedding, *limits, *shared, env=env) as one:
        (tmp_path / "two" / "data").mkdir(parents=True)
        (tmp_path / "two" / "index.git").symlink_to(one.remote)
        with Registry(tmp_path / "two", *embedding, *limits, *shared, env=env) as two:
            yield one, two


def test_what_a_dead_replica_received_is_published_by_another(
    registries: tuple[Registry, Registry], tmp_path: Path
) -> None:
    one, two = registries
    package = skill_package("adze", body="# Body\n" * 1000)
    answer = two.publish(package)
    one.wait_for(lambda: one.job(answer.json()["data"]["job_id"], one.caller())["status"] == "validating")
    two.kill()
    (tmp_path / "blobs").unlink()
    assert one.finished(answer, synced=True)["status"] == "accepted"
    assert one.get("/packages/acme/adze/1.0.0.zip").content == package
    assert len(index_file(one.remote, "acme/adze")) == 1
    assert not list((one.data_dir / "publish").iterdir())


def test_a_reindexing_that_a_dead_replica_was_asked_for_is_ended_by_the_leader(
    registries: tuple[Registry, Registry], provider: EmbeddingServer
) -> None:
    one, two = registries[0].sign_in(), registries[1].sign_in()
    assert one.api("POST", "/skills", json=new_skill("pdf-forms")).status_code == 201
    one.wait_for(lambda: two.status()["pending"] == 0)
    provider.answer = silence
    job = two.api("POST", "/reindex?async=true", json={"force": True}).json()["data"]["job_id"]
    one.wait_for(lambda: two.status()["pending"] == 1)
    two.kill()
    provider.answer = honest
    one.wait_for(lambda: one.api("GET", f"/reindex/{job}").json()["data"]["status"] != "running")
    assert one.api("GET", "/reindex/none").status_code == 404
