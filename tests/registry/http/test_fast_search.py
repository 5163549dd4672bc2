"""Searches answered before the framework: the same answers, counted once, and nothing the framework must refuse."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from registry.config.settings import load_settings
from registry.http.fast_search import FastSearch
from registry.services.container import Services
from support.embedding_server import EmbeddingServer
from support.servers import RunningServer, bearer, write_skill

SEARCH = "/api/v1/search"
PLAIN, BY_THE_FRAMEWORK = "application/json", "application/json; charset=utf-8"

BODIES = [
    b'{"query": "slow sql joins"}',
    b'{"query": "forms", "mode": "keyword", "limit": 1, "offset": 1, "min_score": 0.01}',
    b'{"query": "forms", "content": "full", "filters": {"tags": ["pdf"], "enabled": true}}',
    b'{"query": "nothing like it", "mode": "keyword"}',
    b'{"query": "forms", "mode": "semantic"}',
    b'{"query": "with \\u00fcml\\u00e4uts and a\\nline break"}',
    b'{"query": "forms", "query": "sql"}',
    b'{"query": "forms", "limit": 0, "mode": "best"}',
    b'{"query": " "}',
    b'["query"]',
    b"{",
    b"\xff",
    b"",
    b'{"query": "forms", "filters": {"tags": ["' + b"x" * 9000 + b'"]}}',
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("direct")
    write_skill(folder / "skills", "pdf-forms", "Fill in pdf forms.", "Open the form.\n" * 200, tags="pdf, forms")
    write_skill(folder / "skills", "web-forms", "Check web forms before they are sent.")
    write_skill(folder / "skills", "sql-review", "Review sql queries for slow joins.")
    with RunningServer(folder) as running:
        yield running


def ask(server: RunningServer, body: bytes, content_type: str, encoding: str, path: str = SEARCH) -> httpx.Response:
    headers = {"Content-Type": content_type, "Accept-Encoding": encoding}
    return server.http.post(path, content=body, headers=headers)


def said(answer: httpx.Response) -> tuple[int, Any, dict[str, str]]:
    """Return what must not differ between two answers to the same question."""
    data = answer.json()
    data.get("data", {}).pop("took_ms", None)
    changing = {"date", "x-request-id", "content-length"}
    return answer.status_code, data, {name: value for name, value in answer.headers.items() if name not in changing}


@pytest.mark.parametrize("encoding", ["identity", "gzip, deflate"])
@pytest.mark.parametrize("body", BODIES)
def test_the_answer_is_the_one_of_the_framework(server: RunningServer, body: bytes, encoding: str) -> None:
    by_the_framework = ask(server, body, BY_THE_FRAMEWORK, encoding)
    assert said(ask(server, body, PLAIN, encoding)) == said(by_the_framework)


def test_long_answers_are_compressed_for_who_takes_that(server: RunningServer) -> None:
    body = json.dumps({"query": "pdf forms", "content": "full"}).encode()
    plain, compressed = ask(server, body, PLAIN, "identity"), ask(server, body, PLAIN, "gzip")
    assert "content-encoding" not in plain.headers
    assert (compressed.headers["content-encoding"], compressed.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert int(compressed.headers["content-length"]) < len(plain.content) / 2
    assert compressed.json()["data"]["skills"] == plain.json()["data"]["skills"]


@pytest.mark.parametrize(
    ("path", "content_type", "status"),
    [(SEARCH, "text/plain", 415), (f"{SEARCH}?q=forms", PLAIN, 200), (f"{SEARCH}/", PLAIN, 200)],
)
def test_what_is_not_quite_such_a_search_is_left_to_the_framework(
    server: RunningServer, path: str, content_type: str, status: int
) -> None:
    assert ask(server, b'{"query": "forms"}', content_type, "identity", path).status_code == status


def test_a_search_that_was_let_in_is_counted_once(tmp_path: Path) -> None:
    with EmbeddingServer() as provider:
        arguments = ("--embedding-provider", "hosted", "--embedding-base-url", provider.url)
        limit = ("--profile", "registry", "--limits-reads-per-minute", "50")
        with RunningServer(tmp_path, *arguments, *limit, env={"OPENAI_API_KEY": "sk-canary"}) as server:
            headers = bearer(server.token("user"))
            # A provider is waited for by the framework's handler; what has been embedded is answered before it.
            answers = [server.api("POST", "/search", json={"query": text}, headers=headers) for text in "abcab"]
            assert [answer.status_code for answer in answers] == [200] * 5
            assert [int(answer.headers["RateLimit-Remaining"]) for answer in answers] == [49, 48, 47, 46, 45]


def test_the_framework_has_no_part_in_it(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms.")
    flags = {"skills_dir": str(tmp_path / "skills"), "data_dir": str(tmp_path), "embedding.provider": "none"}
    services = Services(load_settings(flags, {}))
    services.begin()
    assert services.ready.wait(60)
    sent: list[Any] = []

    async def framework(*_: object) -> None:
        raise AssertionError("the framework was asked")

    async def receive() -> Any:
        return {"type": "http.request", "body": b'{"query": "pdf forms"}', "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {
        "type": "http",
        "path": SEARCH,
        "method": "POST",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"22")],
        "state": {},
    }
    asyncio.run(FastSearch(framework, services)(scope, receive, send))
    services.close()
    assert sent[0]["status"] == 200
    assert json.loads(sent[1]["body"])["data"]["skills"][0]["skill"]["id"] == "pdf-forms"
