"""A read-only replica on a standby: it searches what the others write, writes nothing, and says so."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from registry.database.postgres import PostgresDatabase
from registry.db import DatabaseUnavailable, DatabaseUnusable
from support.embedding_server import EmbeddingServer
from support.postgres_server import PostgresServer
from support.replicas import replica
from support.servers import RunningServer, new_skill


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture(scope="module")
def pair(
    postgres: PostgresServer, database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningServer, RunningServer]]:
    """A replica on the primary, and a read-only one on a standby."""
    folder, name = tmp_path_factory.mktemp("standby"), database.rpartition("/")[2]
    with EmbeddingServer() as provider:
        embedding = ("--embedding-provider", "hosted", "--embedding-base-url", provider.url)
        arguments, key = ("--profile", "registry", *embedding), "sk-canary-0123456789"
        with replica(folder / "one", database, *arguments, OPENAI_API_KEY=key) as primary:
            assert primary.sign_in().api("POST", "/skills", json=new_skill("before")).status_code == 201
            with (
                postgres.standby() as standby,
                replica(folder / "two", standby.url(name), *arguments, "--read-only", OPENAI_API_KEY=key) as reader,
            ):
                yield primary, reader.sign_in("user")


def test_it_finds_what_is_written_to_the_primary(pair: tuple[RunningServer, RunningServer]) -> None:
    primary, reader = pair
    assert reader.found("pdf forms")[0] == "before"
    assert primary.api("POST", "/skills", json=new_skill("after", description="Groom an aardvark.")).is_success
    reader.wait_for(lambda: reader.found("aardvark") == ["after"])
    reader.wait_for(lambda: reader.found("groom an aardvark", mode="semantic")[:1] == ["after"])
    assert reader.api("GET", "/skills/after").json() == primary.api("GET", "/skills/after").json()


def test_it_changes_nothing(pair: tuple[RunningServer, RunningServer]) -> None:
    primary, reader = pair
    made = primary.api("POST", "/auth/keys", json={"name": "ci", "role": "admin"}).json()["data"]["key"]
    key = {"x-api-key": made}
    reader.wait_for(lambda: httpx.get(f"{reader.url}/api/v1/skills", headers=key, trust_env=False).is_success)
    refused = httpx.post(f"{reader.url}/api/v1/skills", json=new_skill("new"), headers=key, trust_env=False)
    assert refused.json()["error"]["code"] == "FORBIDDEN"
    assert "Traceback" not in reader.log.read_text()
    assert " ERROR " not in reader.log.read_text()


def test_on_the_primary_too_a_reader_writes_nothing(database: str, pair: tuple[RunningServer, RunningServer]) -> None:
    reader = PostgresDatabase(database, read_only=True)
    assert not reader.lead()
    with pytest.raises(DatabaseUnavailable), reader.write():
        pass
    assert reader.read("select count(*) from skills")[0][0] > 0
    reader.close()


def test_a_standby_is_not_for_one_that_would_write(pair: tuple[RunningServer, RunningServer], tmp_path: Path) -> None:
    url = pair[1]._env["SKILL_REGISTRY_DATABASE_URL"]
    writer = replica(tmp_path, url)
    command, environment = writer.command(), writer.environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "start with --read-only" in done.stderr


def test_a_database_without_a_catalog_must_be_made_by_another(postgres: PostgresServer) -> None:
    with pytest.raises(DatabaseUnusable, match="without --read-only first"):
        PostgresDatabase(postgres.new_database(), read_only=True)
