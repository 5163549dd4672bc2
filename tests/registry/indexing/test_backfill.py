"""Embedding a whole catalog beside the service: shared by several processes, cut short anywhere, kept until used."""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from registry.config.settings import load_settings
from registry.config.types import DatabaseUrl
from registry.database import open_url
from registry.database.counts import rebuild
from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from registry.indexing.backfill import run_backfill
from registry.indexing.embedder import choose_embedder
from search.engine import Engine, text_space
from search.requests import SearchRequest
from support.catalogs import HashingEmbedder, SkillCatalog
from support.commands import Done
from support.embedding_server import EmbeddingServer, honest
from support.embedding_server import Request as Asked
from support.postgres_server import PostgresServer
from support.processes import start
from support.servers import COMMAND
from support.waiting import PATIENCE_SECONDS, wait_until

SETTINGS = load_settings({}, {})


@pytest.fixture
def provider() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(8) as running:
        yield running


def slow(request: Asked) -> None:
    time.sleep(0.02)
    honest(request)


def stocked(database: Database, count: int) -> SkillCatalog:
    catalog = SkillCatalog(database)
    catalog.put_many((f"skill-{number}", f"does thing {number}", "") for number in range(count))
    return catalog


class Embedding:
    """`skill-registry admin embed` in a process of its own."""

    def __init__(self, url: DatabaseUrl, provider: EmbeddingServer, folder: Path, *args: str) -> None:
        model = ("--embedding-provider", "hosted", "--embedding-model", "small", "--embedding-dimension", "8")
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
        env = plain | {
            "SKILL_REGISTRY_DATABASE_URL": url.reveal(),
            "OPENAI_API_KEY": "sk",
            "OPENAI_BASE_URL": provider.url,
        }
        self._printed = folder / f"{secrets.token_hex(4)}.json"
        command = (COMMAND, "embed", "--json", "--data-dir", str(folder / "data"), *model, *args)
        with self._printed.open("wb") as printed:
            self.process = start(command, env, stdout=printed.fileno())

    def finished(self) -> dict[str, object]:
        assert self.process.wait(300) == 0
        answer: dict[str, object] = json.loads(self._printed.read_text())
        return answer

    def kill_when(self, condition: Callable[[], bool]) -> None:
        wait_until(condition)
        self.process.kill()
        self.process.wait()


def texts(provider: EmbeddingServer) -> list[str]:
    return [text for request in provider.requests for text in request["input"]]


def kept(database: Database) -> list[tuple[object, ...]]:
    return database.read("select space, key, text_hash, vector from vectors order by space, key")


def in_process(database: Database, provider: EmbeddingServer) -> None:
    flags = {"embedding.provider": "hosted", "embedding.model": "small", "embedding.dimension": 8}
    settings = load_settings(flags, {"OPENAI_API_KEY": "sk", "OPENAI_BASE_URL": provider.url})
    embedder = choose_embedder(settings)
    assert embedder is not None
    run_backfill(settings, database, embedder, lambda done, total: None)
    embedder.close()


def test_of_several_processes_one_embeds_each_text(
    postgres: PostgresServer, provider: EmbeddingServer, tmp_path: Path
) -> None:
    url = DatabaseUrl(postgres.new_database())
    with closing(open_url(url)) as database:
        stocked(database, 1500)
        provider.answer = slow
        done = [one.finished() for one in [Embedding(url, provider, tmp_path) for _ in range(2)]]
        assert sum(int(str(one["embedded"])) for one in done) == 1500
        assert sorted(texts(provider)) == sorted(set(texts(provider)))
        assert len(kept(database)) == len(texts(provider)) == 1500


@pytest.mark.endurance
def test_what_is_killed_anywhere_ends_like_an_undisturbed_run(
    database: Database, database_url: DatabaseUrl, provider: EmbeddingServer, tmp_path: Path
) -> None:
    catalog = stocked(database, 900)
    in_process(database, provider)
    undisturbed, space = kept(database), catalog.documents.spaces()[0]
    with database.write() as transaction:
        transaction.execute("delete from vectors")
        rebuild(transaction)
    provider.answer = slow
    for share in (1, 400):
        run = Embedding(database_url, provider, tmp_path)
        run.kill_when(partial(lambda share: catalog.documents.vector_count(space) >= share, share))
        assert catalog.documents.vector_count(space) < 900
    in_process(database, provider)
    assert kept(database) == undisturbed


def test_there_must_be_a_catalog_and_a_model(tmp_path: Path) -> None:
    command = ("embed", "--data-dir", str(tmp_path / "data"))
    Done(tmp_path, *command).complains(1, "there is no catalog at")
    SqliteDatabase(tmp_path / "data" / "skill-registry.db").close()
    Done(tmp_path, *command).complains(1, "no embedding model is configured")


def searched(engine: Engine, query: str) -> tuple[str, list[str]]:
    found = engine.search.search(SearchRequest(query, mode="semantic"))
    return found.mode, [hit.id for hit in found.hits][:1]


def test_the_old_space_answers_until_the_service_is_started_with_the_new_one(
    database: Database, tmp_path: Path
) -> None:
    catalog, old, new = stocked(database, 40), HashingEmbedder("old"), HashingEmbedder("new")
    service = Engine(catalog.documents, tmp_path / "one", old)
    service.start()
    service.wait_until_embedded(PATIENCE_SECONDS)
    filled = run_backfill(SETTINGS, database, new, lambda done, total: None)
    assert (filled.embedded, filled.failed, filled.space) == (40, 0, text_space(new))
    catalog.put("zebra-care", "Look after zebras")
    service.changed()
    service.wait_until_embedded(PATIENCE_SECONDS)
    assert searched(service, "zebras") == ("semantic", ["zebra-care"])
    service.reindex()
    assert catalog.documents.vector_count(text_space(new)) == 40
    service.close()
    service = Engine(catalog.documents, tmp_path / "two", new, previous=(old, text_space(old)))
    service.start()
    wait_until(lambda: catalog.documents.spaces() == [text_space(new)])
    old.down = True
    assert searched(service, "zebras") == ("semantic", ["zebra-care"])
    assert catalog.documents.backfill_spaces() == set()
    service.close()


def test_a_rate_is_kept(database: Database) -> None:
    stocked(database, 300)
    settings = load_settings({"embedding.rate": 1000}, {})
    assert run_backfill(settings, database, HashingEmbedder(), lambda done, total: None).seconds >= 0.2
