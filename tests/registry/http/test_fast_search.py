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
from registry.http.query_params import QueryRules
from registry.http.routes.search import search_body
from registry.server.app import create_app
from registry.services.container import Services
from registry.services.schemas import FilterValues
from support import asgi
from support.embedding_server import EmbeddingServer
from support.routes import application
from support.servers import RunningServer, bearer, write_skill

SEARCH, RESOLVE, REGISTRY_SEARCH = "/api/v1/search", "/api/v1/resolve", "/api/search"
PLAIN, BY_THE_FRAMEWORK = "application/json", "application/json; charset=utf-8"

BODIES = [
    b'{"query": "slow sql joins"}',
    b'{"query": "forms", "mode": "keyword", "limit": 1, "offset": 1, "min_score": 0.01}',
    b'{"query": "forms", "content": "full", "filters": {"tags": ["pdf"], "enabled": true}}',
    b'{"query": "nothing like it", "mode": "keyword"}',
    b'{"query": "forms", "facets": true, "highlight": true}',
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


PROMPTS = [body.replace(b'"query":', b'"prompt":') for body in BODIES]

QUERIES = [
    "q=slow+sql+joins",
    "q=forms&limit=1&offset=1&mode=keyword&content=preview",
    "q=forms&author=Ann&license=%20mit%20",
    "q=forms&author=&license=+&limit=3",
    "q=forms&author=" + "x" * 201,
    "q=forms&tags=pdf,forms&capabilities=&source=&scope=&enabled=true&installed=true&max_risk=high",
    "%71=f%6Frms&%6Dode=keyword",
    "q=%C3%BCml%C3%A4uts%2Band;more=&unknown=1&=",
    "q=a=b&&limit=007",
    "q=forms&explain=true",
    "q=forms&highlight=true",
    "q=nothing%20like%20it&mode=keyword",
    "q=forms&mode=semantic",
    "q=forms&limit=9999&offset=9007199254740992",
    "q=forms&limit=9007199254740993&offset=-1&enabled=yes&max_risk=&mode=best&content=&explain=1&source=" + "x" * 101,
    "q=forms&q=sql",
    "q=forms&unknown=1&unknown=2",
    "q=a%00b",
    "q=%FF",
    "q=%ED%A0%80",
    "q=%20",
    "q",
    "limit=5",
    "",
    "&".join(["q=forms", *(f"a{number}" for number in range(100))]),
    "q=" + "x" * 7000,
]

REQUESTS = [
    *(("POST", SEARCH, body) for body in BODIES),
    *(("POST", REGISTRY_SEARCH, body) for body in BODIES[:6]),
    *(("POST", RESOLVE, body) for body in PROMPTS),
    *(("GET", f"{SEARCH}?{query}", b"") for query in QUERIES),
    ("HEAD", f"{SEARCH}?q=forms", b""),
    ("GET", RESOLVE, b""),
    ("GET", REGISTRY_SEARCH, b""),
]


@pytest.fixture(scope="module", params=["local", "registry"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("direct")
    write_skill(folder / "skills", "pdf-forms", "Fill in pdf forms.", "Open the form.\n" * 200, tags="pdf, forms")
    write_skill(folder / "skills", "web-forms", "Check web forms before they are sent.")
    write_skill(folder / "skills", "sql-review", "Review sql queries for slow joins.")
    limit = ("--limits-reads-per-minute", "100000")
    with RunningServer(folder, "--profile", request.param, *limit) as running:
        if request.param == "registry":
            running.http.headers.update(bearer(running.token("user")))
        yield running


def ask(
    server: RunningServer, method: str, path: str, body: bytes, content_type: str, **headers: str
) -> httpx.Response:
    kind = {} if method != "POST" and content_type == PLAIN else {"Content-Type": content_type}
    return server.http.request(method, path, content=body, headers={**kind, **headers})


def said(answer: httpx.Response) -> tuple[int, Any, dict[str, str]]:
    """Return what must not differ between two answers to the same question."""
    data = answer.json() if answer.content else {}
    if "data" in data:
        data["data"].pop("took_ms", None)
        data["data"]["search_id"] = "search_id" in data["data"]  # the id has the second of the search
    changing = {"date", "x-request-id", "content-length", "ratelimit-remaining", "ratelimit-reset"}
    return answer.status_code, data, {name: value for name, value in answer.headers.items() if name not in changing}


@pytest.mark.parametrize("encoding", ["identity", "gzip, deflate"])
@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_the_answer_is_the_one_of_the_framework(
    server: RunningServer, method: str, path: str, body: bytes, encoding: str
) -> None:
    accepted = {"Accept-Encoding": encoding}
    by_the_framework = said(ask(server, method, path, body, BY_THE_FRAMEWORK, **accepted))
    assert said(ask(server, method, path, body, PLAIN, **accepted)) == by_the_framework
    assert said(ask(server, method, path, body, PLAIN, **accepted)) == by_the_framework  # from the cache


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer x"},
        {"Authorization": "Bearer eyJhbGciOiJub25lIn0.e30."},
        {"Authorization": "Basic dXNlcjp4"},
        {"Authorization": "", "X-API-Key": "sk-none"},
        {"Authorization": ""},
        {"Host": "elsewhere.example"},
        {"Origin": "https://elsewhere.example"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", SEARCH, BODIES[0]),
        ("POST", REGISTRY_SEARCH, BODIES[0]),
        ("POST", RESOLVE, PROMPTS[0]),
        ("GET", f"{SEARCH}?q=forms", b""),
    ],
)
def test_who_is_refused_by_the_framework_is_refused(
    server: RunningServer, method: str, path: str, body: bytes, headers: dict[str, str]
) -> None:
    by_the_framework = said(ask(server, method, path, body, BY_THE_FRAMEWORK, **headers))
    ask(server, method, path, body, PLAIN)  # and what others have asked does not let them in
    assert said(ask(server, method, path, body, PLAIN, **headers)) == by_the_framework


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (SEARCH, {"query": "pdf forms", "content": "full"}, "skills"),
        (RESOLVE, {"prompt": "forms", "content": "full"}, "results"),
    ],
)
def test_long_answers_are_compressed_for_who_takes_that(
    server: RunningServer, path: str, body: dict[str, str], field: str
) -> None:
    sent = json.dumps(body).encode()
    plain, compressed = (
        ask(server, "POST", path, sent, PLAIN, **{"Accept-Encoding": encoding}) for encoding in ("identity", "gzip")
    )
    assert "content-encoding" not in plain.headers
    assert (compressed.headers["content-encoding"], compressed.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert int(compressed.headers["content-length"]) < len(plain.content) / 2
    assert compressed.json()["data"][field] == plain.json()["data"][field]


@pytest.mark.parametrize(
    ("path", "content_type", "status"),
    [(SEARCH, "text/plain", 415), (f"{SEARCH}?q=forms", PLAIN, 200), (f"{SEARCH}/", PLAIN, 200)],
)
def test_what_is_not_quite_such_a_search_is_left_to_the_framework(
    server: RunningServer, path: str, content_type: str, status: int
) -> None:
    assert ask(server, "POST", path, b'{"query": "forms"}', content_type).status_code == status


def test_an_answer_to_an_agent_ends_with_the_catalog_it_is_true_of(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms.")
    with RunningServer(tmp_path) as server:
        before = ask(server, "POST", RESOLVE, PROMPTS[1], PLAIN).json()["data"]["results"]
        server.api("DELETE", "/skills/pdf-forms").raise_for_status()
        assert len(before) == 1
        assert ask(server, "POST", RESOLVE, PROMPTS[1], PLAIN).json()["data"]["results"] == []


@pytest.mark.parametrize(
    ("method", "path", "field"),
    [("POST", SEARCH, "query"), ("POST", REGISTRY_SEARCH, "query"), ("POST", RESOLVE, "prompt"), ("GET", SEARCH, "q")],
)
def test_a_search_that_was_let_in_is_counted_once(tmp_path: Path, method: str, path: str, field: str) -> None:
    with EmbeddingServer() as provider:
        arguments = ("--embedding-provider", "hosted", "--embedding-base-url", provider.url)
        limit = ("--profile", "registry", "--limits-reads-per-minute", "50")
        with RunningServer(tmp_path, *arguments, *limit, env={"OPENAI_API_KEY": "sk-canary"}) as server:
            headers = bearer(server.token("user"))
            # A provider is waited for by the framework's handler; what has been embedded is answered before it.
            how = "json" if method == "POST" else "params"
            asked: list[dict[str, Any]] = [{how: {field: text}} for text in ("a", "b", "c", "a", "b")]
            answers = [server.http.request(method, path, headers=headers, **one) for one in asked]
            assert [answer.status_code for answer in answers] == [200] * 5
            assert [int(answer.headers["RateLimit-Remaining"]) for answer in answers] == [49, 48, 47, 46, 45]


VALUES = {"limit": 7, "offset": 3, "mode": "keyword", "content": "full", "explain": True, "highlight": True} | {
    "tags": ["pdf"], "capabilities": ["read"], "source": ["local"], "scope": ["acme"], "any_tags": ["pdf,ocr"],
    "installed": True, "enabled": False, "max_risk": "low", "author": ["Ann"], "license": ["MIT", "Apache-2.0"],
    "group": False, "os": ["linux"], "agent": ["codex"], "model_invocation": True, "any_capabilities": ["read"],
    "sort": "name", "weak": False, "facets": True, "min_score": 0.5,
}  # fmt: skip
VALUES |= {f"not.{name}": VALUES[name] for name in FilterValues.__struct_fields__}


def test_every_parameter_of_a_query_string_counts(tmp_path: Path) -> None:
    with application(tmp_path, "local") as app:
        names = QueryRules(app.route_handler_method_map[SEARCH]["GET"]).names
    assert names == {"q", *VALUES}
    for name in VALUES:
        assert search_body({"q": "forms", name: VALUES[name]}) != search_body({"q": "forms"}), name


@pytest.mark.parametrize("profile", ["local", "registry"])
def test_the_framework_has_no_part_in_it(tmp_path: Path, profile: str) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms.")
    flags = {
        "skills_dir": str(tmp_path / "skills"),
        "data_dir": str(tmp_path),
        "embedding.provider": "none",
        "profile": profile,
        "auth.anonymous_read": profile == "registry",
    }
    services = Services(load_settings(flags, {}))
    services.begin()
    assert services.ready.wait(60)

    async def framework(*_: object) -> None:
        raise AssertionError("the framework was asked")

    app = create_app(services)
    handlers = app.route_handler_method_map
    search = FastSearch(framework, services, app.state.searches, QueryRules(handlers[SEARCH]["GET"]))
    assert {path for _, path in search.routes} <= set(handlers)
    for method, path in search.routes:
        question = (f"{path}?q=pdf+forms",) if method == "GET" else (path, b'{"query": "pdf", "prompt": "pdf"}')
        answer = asyncio.run(asgi.ask(search, method, *question))
        assert (answer.status, b"pdf-forms" in answer.body) == (200, True)
    app.state.searches.close()
    services.close()
