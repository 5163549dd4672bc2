"""A damaged page of a PostgreSQL database is found: by fsck, by a backup, and by the service itself."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from support.commands import Done
from support.postgres_server import PostgresServer
from support.replicas import SECRET
from support.servers import RunningServer, bearer, new_skill

PAGE = 8192


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that no other test uses: it is stopped and its files are damaged."""
    with PostgresServer() as server:
        yield server


def overwrite(server: PostgresServer, url: str, table: str) -> None:
    """Overwrite the first page of a table, as a failing disk does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("checkpoint")
        ((name, size),) = connection.execute("select pg_relation_filepath(%s), pg_relation_size(%s)", (table, table))
    assert size >= PAGE, f"{table} has no rows"
    server.stop()  # it has the page in memory
    with (server.data / name).open("r+b") as file:
        file.write(b"\xa5" * PAGE)
    server.start()


@pytest.fixture
def url(own_server: PostgresServer) -> str:
    return own_server.new_database()


@pytest.fixture
def service(url: str, tmp_path: Path) -> RunningServer:
    """A registry with a record; it is stopped."""
    env = {**SECRET, "SKILL_REGISTRY_DATABASE_URL": url}
    with RunningServer(tmp_path, "--profile", "registry", env=env) as server:
        answer = server.api("POST", "/skills", json=new_skill("notes"), headers=bearer(server.token("admin")))
        assert answer.status_code == 201, answer.text
    return server


def flags(service: RunningServer) -> tuple[str, ...]:
    return ("--data-dir", str(service.data_dir), "--skills-dir", str(service.skills_dir))


def test_a_damaged_page_is_said_by_the_service_and_by_fsck_and_not_backed_up(
    own_server: PostgresServer, url: str, service: RunningServer, tmp_path: Path
) -> None:
    with service as server:
        admin = bearer(server.token("admin"))
    overwrite(own_server, url, "audit")
    with service as server:
        answer = server.api("GET", "/audit", headers=admin)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        server.wait_for(lambda: server.http.get("/readyz").status_code == 503)
    env = service.environment()
    done = Done(tmp_path, "fsck", *flags(service), **env)
    assert done.code == 1, done.out
    assert "table audit" in done.out
    assert "invalid page in block 0" in " ".join(done.out.split())
    Done(tmp_path, "backup", "copy", *flags(service), **env).complains(1, "damaged", "audit")


def test_a_damaged_derived_table_is_built_again(
    own_server: PostgresServer, url: str, service: RunningServer, tmp_path: Path
) -> None:
    overwrite(own_server, url, "documents")
    env = service.environment()
    assert "table documents" in Done(tmp_path, "fsck", *flags(service), **env).out
    Done(tmp_path, "fsck", "--repair", *flags(service), **env)
    assert Done(tmp_path, "fsck", *flags(service), **env).code == 0
    with service as server:
        headers = bearer(server.token("user"))
        answer = server.api("POST", "/search", json={"query": "pdf forms"}, headers=headers)
        assert [hit["skill"]["id"] for hit in answer.json()["data"]["skills"]] == ["notes"]
