"""A provider that fails costs meaning, never an answer (checks X01 to X05)."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from support.embedding_server import Answer, EmbeddingServer, body, every, hang_up, honest
from support.servers import RunningServer, new_skill, write_skill
from support.slow_answers import drip, silence

KEY = "sk-canary-0123456789"
FAILURES: dict[str, Answer] = {
    "black hole": silence,
    "drip": drip,
    "hang up": hang_up,
    "error 500": body(b"{}", 500),
    "wrong key": body(b'{"error": {"message": "bad key"}}', 401),
    "web page": body(b"<html>Sign in</html>", kind="text/html"),
    "dimension 7": every([0.5] * 7),
    "not numbers": every([float("nan")] * 1536),
    "all zero": every([0.0] * 1536),
}


@contextmanager
def serving(folder: Path, url: str) -> Iterator[RunningServer]:
    """Serve one skill with a hosted provider at `url`."""
    write_skill(folder / "skills", "sql-review", "Review sql queries for slow joins.")
    arguments = ("--embedding-provider", "hosted", "--embedding-base-url", url, "--limits-embedding-total-seconds", "2")
    with RunningServer(folder, *arguments, env={"OPENAI_API_KEY": KEY}) as server:
        server.wait_for(lambda: server.status()["status"] == "ok")
        yield server


def assert_words_answer(server: RunningServer) -> None:
    """Assert that a search answers in time, by words, and says why."""
    started = time.monotonic()
    data = server.search("slow joins")
    assert time.monotonic() - started < 60  # not as long as the provider takes, which is for ever
    assert data["mode"] == "keyword"
    assert any("degraded" in warning for warning in data["warnings"])
    assert [hit["skill"]["id"] for hit in data["skills"]] == ["sql-review"]


def assert_writes_work(server: RunningServer) -> None:
    assert server.api("POST", "/skills", json=new_skill("written-meanwhile")).status_code == 201
    changed = server.api("PUT", "/skills/written-meanwhile", json={"description": "Written while it was degraded."})
    assert changed.status_code == 200
    assert server.found("written-meanwhile", mode="keyword")[0] == "written-meanwhile"
    assert server.api("DELETE", "/skills/written-meanwhile").status_code == 200


def assert_meaning_is_refused(server: RunningServer) -> None:
    answer = server.api("POST", "/search", json={"query": "unseen question", "mode": "semantic"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert int(answer.headers["Retry-After"]) > 0


def vectors(server: RunningServer) -> int:
    """Count the vectors that were stored."""
    with closing(sqlite3.connect(server.data_dir / "skill-registry.db")) as database:
        return int(database.execute("select count(*) from vectors").fetchone()[0])


@pytest.mark.parametrize("failure", FAILURES)
def test_a_provider_that_fails_costs_only_meaning(tmp_path: Path, failure: str) -> None:
    with EmbeddingServer() as provider:
        provider.answer = FAILURES[failure]
        with serving(tmp_path, provider.url) as server:
            assert_words_answer(server)
            assert_writes_work(server)
            assert_meaning_is_refused(server)
            assert server.status()["pending"] == 1
            assert vectors(server) == 0
            shown = str(server.status())
            provider.stopping.set()
        assert provider.keys[0] == f"Bearer {KEY}"
        assert "canary" not in shown + server.log.read_text()


def test_a_provider_that_is_not_there_costs_only_meaning(tmp_path: Path) -> None:
    with EmbeddingServer() as provider:
        url = provider.url
    with serving(tmp_path, url) as server:
        assert_words_answer(server)
        assert_writes_work(server)
        assert_meaning_is_refused(server)


def test_a_provider_that_asks_for_a_pause_gets_it(tmp_path: Path) -> None:
    with EmbeddingServer() as provider:
        provider.answer = body(b"{}", 429, Retry_After="60")
        with serving(tmp_path, provider.url) as server:
            for _ in range(5):
                assert_words_answer(server)
            assert_writes_work(server)
            assert len(provider.requests) <= 2


def test_vectors_are_filled_in_when_the_provider_recovers(tmp_path: Path) -> None:
    with EmbeddingServer() as provider:
        provider.answer = body(b"{}", 500)
        with serving(tmp_path, provider.url) as server:
            assert_words_answer(server)
            server.api("POST", "/skills", json=new_skill("written-meanwhile"))
            provider.answer = honest
            server.wait_for(lambda: server.status()["pending"] == 0)
            assert server.search("slow joins")["mode"] == "hybrid"
            assert server.found("slow joins", mode="semantic")[0] == "sql-review"
            assert vectors(server) == 2
