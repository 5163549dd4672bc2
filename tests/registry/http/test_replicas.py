"""Three replicas on one database: whatever one is told, the others know."""

import functools
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from support.embedding_server import EmbeddingServer
from support.postgres_server import PostgresServer
from support.replicas import replica
from support.servers import RunningServer, bearer, new_skill


@pytest.fixture(scope="module")
def replicas(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[RunningServer]]:
    """The first one leads, and so embeds."""
    url, folder = postgres.new_database(), tmp_path_factory.mktemp("replicas")
    with EmbeddingServer() as provider, ExitStack() as stack:
        embedding = ("--embedding-provider", "hosted", "--embedding-base-url", provider.url)
        arguments = ("--profile", "registry", *embedding)
        started = [
            replica(folder / name, url, *arguments, OPENAI_API_KEY="sk-canary-0123456789")
            for name in ("one", "two", "three")
        ]
        yield [stack.enter_context(one).sign_in() for one in started]


def is_nearest(server: RunningServer, query: str, skill_id: str) -> bool:
    return server.found(query, mode="semantic")[:1] == [skill_id]


def test_what_one_writes_the_leader_embeds_and_all_find(replicas: Sequence[RunningServer]) -> None:
    for number, writer in enumerate(replicas):
        skill_id, words = f"care-{number}", f"grooming aardvark number{number}"
        assert writer.api("POST", "/skills", json=new_skill(skill_id, description=words)).status_code == 201
        for one in replicas:
            assert one.found(f"number{number}") == [skill_id]
        for one in replicas:
            one.wait_for(functools.partial(is_nearest, one, words, skill_id))
        assert writer.search(words)["skills"][0]["matched_by"] == ["keyword", "semantic"]


def test_what_one_revokes_ends_at_all(replicas: Sequence[RunningServer]) -> None:
    one, two, three = replicas
    made = one.api("POST", "/auth/keys", json={"name": "ci"}).json()["data"]
    token = bearer(two.token("user", "acme/ann"))
    assert all(server.api("GET", "/skills", headers=token).is_success for server in (one, three))
    assert three.http.post("/auth/logout", headers=token).is_success
    assert one.api("DELETE", f"/auth/keys/{made['id']}").is_success
    for server in replicas:
        server.wait_for(functools.partial(is_refused, server, token))
        server.wait_for(functools.partial(is_refused, server, {"x-api-key": made["key"], "authorization": ""}))


def is_refused(server: RunningServer, credential: dict[str, str]) -> bool:
    return server.api("GET", "/skills", headers=credential).status_code == 401


def test_failures_to_get_a_token_count_at_all(replicas: Sequence[RunningServer]) -> None:
    one, two, three = replicas
    assert [guess(one) for _ in range(9)] == [401] * 9
    guess(two)
    two.wait_for(lambda: guess(two) == 429)
    three.wait_for(lambda: guess(three) == 429)


def guess(server: RunningServer) -> int:
    wrong = {"username": "acme/ann", "password": "not this one"}
    return httpx.post(f"{server.url}/auth/token", json=wrong, trust_env=False).status_code


@pytest.mark.parametrize("setting", ["SKILL_REGISTRY_AUTH_SECRET", "SKILL_REGISTRY_TRANSPARENCY_KEY"])
def test_a_replica_with_a_secret_of_its_own_does_not_start(
    replicas: Sequence[RunningServer], tmp_path: Path, setting: str
) -> None:
    url = replicas[0]._env["SKILL_REGISTRY_DATABASE_URL"]
    outsider = replica(tmp_path, url, "--profile", "registry", **{setting: ""})
    command, environment = outsider.command(), outsider.environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert setting in done.stderr
