"""Three replicas on one database: whatever one is told, the others know."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from support.embedding_server import EmbeddingServer
from support.postgres_server import PostgresServer
from support.replicas import replica
from support.servers import RunningServer, new_skill


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
