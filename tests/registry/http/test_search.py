"""Search over HTTP, words and vectors: the six rules of the contract, and what no query may break."""

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from registry.config.types import DatabaseUrl
from support.embedding_server import EmbeddingServer, Request, honest
from support.servers import RunningServer, new_skill, write_skill
from support.site import Site
from support.waiting import PATIENCE_SECONDS

SEARCH = "POST /api/v1/search"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("search")
    write_skill(
        folder / "skills", "pdf-forms", "Fill in pdf forms and read their fields.", tags="pdf, forms", license="MIT"
    )
    write_skill(
        folder / "skills",
        "sql-review",
        "Review sql queries for slow joins.",
        "Look at the indexes.\n",
        author="Ann  Lee",
        license="mit",
    )
    write_skill(
        folder / "skills", "Travel_Plan", "Plan a journey with trains and hotels.", version="2.1", author="Ann Lee"
    )
    with EmbeddingServer() as provider:
        arguments = ("--embedding-provider", "hosted", "--embedding-base-url", provider.url)
        environment = {**database_setting, "OPENAI_API_KEY": "sk-canary-0123456789"}
        with RunningServer(folder, *arguments, env=environment) as running:
            running.wait_for(lambda: running.is_embedded(3))
            yield running


def test_a_search_tells_what_it_found_and_why(server: RunningServer) -> None:
    data = server.search("slow sql joins")
    fields = {"query", "mode", "limit", "count", "total", "total_is_floor", "took_ms", "warnings", "skills"}
    assert set(data) == {*fields, "search_id"}
    assert (data["mode"], data["count"], data["warnings"]) == ("hybrid", len(data["skills"]), [])
    best = data["skills"][0]
    assert best["skill"]["id"] == "sql-review"
    assert set(best["matched_by"]) <= {"name", "keyword", "semantic"}
    assert "keyword" in best["matched_by"]
    assert best["relevance"] in {"high", "medium", "low"}
    assert 0 <= best["score"] <= 1
    assert [hit["score"] for hit in data["skills"]] == sorted((hit["score"] for hit in data["skills"]), reverse=True)


def test_a_search_says_what_was_searched_instead_of_a_misspelled_word(server: RunningServer) -> None:
    for _ in range(2):  # the second answer comes from the cache
        data = server.search("quereis of sql", highlight=True, explain=True)
        assert data["query"] == "quereis of sql"
        assert data["corrections"] == [{"word": "quereis", "used": ["queries"]}]
        best = data["skills"][0]
        assert best["skill"]["id"] == "sql-review"
        marked = [best["snippet"]["text"][start:end] for start, end in best["snippet"]["ranges"]]
        assert marked == ["sql", "queries"]
        assert {match["word"] for match in best["explanation"]["words"]} == {"sql", "queries"}
    resolved = server.api("POST", "/resolve", json={"prompt": "quereis of sql"}).json()["data"]
    assert resolved["corrections"] == data["corrections"]
    assert "corrections" not in server.search("queries of sql")


def test_search_by_query_string_is_the_same_search(server: RunningServer) -> None:
    answer = server.http.get("/api/v1/search", params={"q": "slow sql joins", "limit": 2})
    assert [hit["skill"]["id"] for hit in answer.json()["data"]["skills"]] == server.found("slow sql joins", limit=2)


@pytest.mark.parametrize(
    "query", ["travel_plan", "Travel Plan", "TRAVEL-PLAN", "travelplan", "/travel_plan", "$travelplan"]
)
def test_an_exact_name_is_first_whatever_its_case_and_separators(server: RunningServer, query: str) -> None:
    best = server.search(query)["skills"][0]
    assert best["skill"]["id"] == "travel_plan"
    assert "name" in best["matched_by"]


def test_a_prefix_of_a_name_is_on_the_first_page(server: RunningServer) -> None:
    assert "travel_plan" in server.found("trav", mode="keyword")


@pytest.mark.parametrize("mode", ["auto", "hybrid", "semantic", "keyword"])
def test_the_mode_says_what_ran(server: RunningServer, mode: str) -> None:
    data = server.search("trains", mode=mode)
    assert data["mode"] == {"auto": "hybrid"}.get(mode, mode)
    if mode == "keyword":
        assert {hit["relevance"] for hit in data["skills"]} == {"keyword"}


@pytest.mark.parametrize(
    "query",
    ['"', "C++", "it's", "a-b", "NEAR(", "col:x", "*", "AND", "(", "\\", "name:(", "🎉", "%", "'; drop table", "^~"],
)
def test_no_query_is_syntax(server: RunningServer, query: str) -> None:
    for mode in ("keyword", "hybrid"):
        assert server.search(query, mode=mode)["query"] == query


@pytest.mark.parametrize("query", ["", "   ", "\n", "nul \x00", None, 5, ["a"]])
def test_a_query_outside_the_rule_is_refused(server: RunningServer, query: object) -> None:
    answer = server.api("POST", "/search", json={"query": query})
    assert answer.status_code == 400
    assert answer.json()["error"]["details"][0]["field"] == "query"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limit", 0),
        ("limit", -1),
        ("limit", "5"),
        ("limit", 1.0),
        ("limit", True),
        ("limit", 2**63),
        ("limit", 2**70),
        ("offset", -1),
        ("mode", "magic"),
        ("min_score", 2),
        ("content", "all"),
        ("filters", []),
        ("filters", {"tags": "x"}),
    ],
)
def test_other_fields_are_checked_too(server: RunningServer, field: str, value: object) -> None:
    answer = server.api("POST", "/search", json={"query": "pdf", field: value})
    assert answer.status_code == 400
    assert answer.json()["error"]["details"][0]["field"].partition(".")[0] == field


_TRACE = "".join(f'  File "/srv/app/m{n}.py", line {n}, in call_{n}\n    return step_{n}(row)\n' for n in range(2000))


@pytest.mark.parametrize("route", ["/search", "/resolve"])
def test_a_prompt_of_any_length_is_searched_without_its_paste(server: RunningServer, route: str) -> None:
    name, request = "query" if route == "/search" else "prompt", "plan a journey with trains"
    for parts in ((request, _TRACE), (_TRACE, request), (_TRACE, request, _TRACE)):
        data = server.api("POST", route, json={name: "\n\n".join(parts)}).json()["data"]
        best = data["skills"][0]["skill"]["id"] if route == "/search" else data["results"][0]["skill_id"]
        assert best == "travel_plan"
        assert any(warning.startswith("left out of the search: ") for warning in data["warnings"])


def test_a_limit_above_the_greatest_is_clamped(server: RunningServer) -> None:
    assert server.search("pdf", limit=5000)["count"] <= 100


def test_white_space_around_a_query_does_not_count(site: Site) -> None:
    for route, name in ((SEARCH, "query"), ("POST /api/v1/resolve", "prompt")):
        answer = site.server.http.post(route.split()[1], json={name: "  whittle\n "}, headers=site.headers)
        assert answer.json()["data"]["query"] == "whittle"
    found = site.server.api("GET", "/search", params={"q": "  whittle "}, headers=site.headers).json()["data"]
    assert found["query"] == "whittle"


@pytest.mark.parametrize(("asked", "used"), [({}, 10), ({"limit": 1}, 1), ({"limit": 5000}, 100)])
@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8"])
def test_the_answer_tells_the_limit_that_was_used(site: Site, asked: dict[str, int], used: int, kind: str) -> None:
    for path in {site.path(route) for route in site.routes if route.nameless in ("POST /api/search", SEARCH)}:
        body = json.dumps({"query": "whittle", **asked}).encode()
        for _ in range(2):  # the second answer is a cached one
            answer = site.server.http.post(path, content=body, headers={**site.headers, "Content-Type": kind})
            assert answer.json()["data"]["limit"] == used


@pytest.mark.parametrize(("asked", "used"), [({}, 10), ({"limit": 7}, 7), ({"limit": 101}, 100)])
def test_so_does_a_search_by_query_string(site: Site, asked: dict[str, int], used: int) -> None:
    for _ in range(2):
        answer = site.server.api("GET", "/search", params={"q": "whittle", **asked}, headers=site.headers)
        assert answer.json()["data"]["limit"] == used


def test_filters_combine(server: RunningServer) -> None:
    assert server.found("plan forms", filters={"tags": ["PDF", "forms"]}) == ["pdf-forms"]
    assert server.found("plan forms", filters={"tags": ["pdf", "absent"]}) == []
    assert "pdf-forms" in server.found("forms", filters={"source": "local", "installed": True})
    assert server.found("forms", filters={"source": "elsewhere"}) == []


def test_content_is_added_where_asked_for(server: RunningServer) -> None:
    assert "content" not in server.search("slow sql joins")["skills"][0]
    assert server.search("slow sql joins", content="full")["skills"][0]["content"].strip() == "Look at the indexes."


def test_a_passage_with_the_matched_words_is_added_where_asked_for(server: RunningServer) -> None:
    assert "snippet" not in server.search("slow sql joins")["skills"][0]
    for query, field, words in [
        ("joining slow queries", "description", ["queries", "slow", "joins"]),
        ("indexes", "body", ["indexes"]),
    ]:
        hit = server.search(query, highlight=True, mode="keyword")["skills"][0]
        assert hit["skill"]["id"] == "sql-review"
        snippet = hit["snippet"]
        assert snippet["field"] == field
        assert [snippet["text"][start:end] for start, end in snippet["ranges"]] == words
        same = server.api("GET", "/search", params={"q": query, "highlight": "true", "mode": "keyword"}).json()["data"]
        assert same["skills"][0]["snippet"] == snippet


def test_a_hit_without_the_words_has_no_passage(server: RunningServer) -> None:
    hits = server.search("aardvark forms", highlight=True, mode="semantic", limit=100)["skills"]
    assert {"forms" in hit["skill"]["description"] for hit in hits} == {"snippet" in hit for hit in hits}


def test_facets_count_the_values_of_all_hits(server: RunningServer) -> None:
    assert "facets" not in server.search("forms")
    found = server.search("forms sql trains", mode="keyword", facets=True, limit=1)
    assert found["total"] == 3
    facets = found["facets"]
    assert facets["sources"] == [["local", 3]]
    assert facets["installed"] == 3
    assert facets["risks"] == [["none", 3]]
    assert facets["tags"] == [["forms", 1], ["pdf", 1]]
    assert facets["authors"] == [["Ann  Lee", 2]]
    assert facets["licenses"] == [["MIT", 2]]
    assert server.search("zzzz", mode="keyword", facets=True)["facets"]["tags"] == []


@pytest.mark.parametrize("mode", ["keyword", "hybrid", "semantic"])
def test_a_search_is_limited_to_an_author_or_a_licence(server: RunningServer, mode: str) -> None:
    def found(**filters: str) -> set[str]:
        by_body = server.found("forms sql trains", mode=mode, filters=filters)
        answer = server.http.get("/api/v1/search", params={"q": "forms sql trains", "mode": mode, **filters})
        assert [hit["skill"]["id"] for hit in answer.json()["data"]["skills"]] == by_body
        return set(by_body)

    assert found(author="ann lee") == found(author=" ANN   LEE ") == {"sql-review", "travel_plan"}
    assert found(license="MIT") == {"pdf-forms", "sql-review"}
    assert found(license="mit", author="Ann Lee") == {"sql-review"}
    assert found(author="Ann") == set()


def test_an_author_that_no_skill_can_have_is_refused(server: RunningServer) -> None:
    for author in ("", " ", "x" * 201):
        answer = server.api("POST", "/search", json={"query": "forms", "filters": {"author": author}})
        assert answer.status_code == 400
        assert answer.json()["error"]["details"][0]["field"] == "filters.author"


def test_the_total_counts_all_pages(server: RunningServer) -> None:
    for query in ("forms and trains", "sql", "zzzz"):
        every = server.search(query, mode="keyword", limit=100)
        assert (every["total"], every["total_is_floor"]) == (every["count"], False)
        assert server.search(query, mode="keyword", limit=1)["total"] == every["total"]
    assert server.search("forms", mode="keyword", min_score=1)["total"] == 0


def test_pages_cut_one_ranking(server: RunningServer) -> None:
    whole = server.found("plan forms queries")
    assert [server.found("plan forms queries", limit=1, offset=at)[0] for at in range(len(whole))] == whole
    assert server.found("plan forms queries", offset=100_000) == []


def test_a_write_is_found_by_the_next_search(server: RunningServer) -> None:
    assert server.api("POST", "/skills", json=new_skill("xylophone-tuning")).status_code == 201
    assert server.found("xylophone", mode="keyword") == ["xylophone-tuning"]
    server.wait_for(lambda: server.status()["pending"] == 0)
    assert server.found("xylophone tuning", mode="semantic")[0] == "xylophone-tuning"
    assert server.api("DELETE", "/skills/xylophone-tuning").status_code == 200
    assert "xylophone-tuning" not in server.found("xylophone tuning")


def test_equal_searches_have_equal_answers(server: RunningServer) -> None:
    first, second = server.search("journey"), server.search("journey")
    assert {**first, "took_ms": 0} == {**second, "took_ms": 0}


def test_an_agent_gets_where_to_load_a_skill_from(server: RunningServer) -> None:
    answer = server.api("POST", "/resolve", json={"prompt": "my sql joins are slow", "limit": 1, "content": "preview"})
    (best,) = answer.json()["data"]["results"]
    assert (best["skill_id"], best["relevance"], best["risk"]) == ("sql-review", "medium", "none")
    assert Path(best["skill_md_path"]).read_text().endswith(best["content"])


def test_every_way_to_search_explains_its_hits(server: RunningServer) -> None:
    asked = {"limit": 1, "explain": True}

    def explanations() -> list[Any]:
        posted = server.api("POST", "/search", json={"query": "slow sql joins", **asked}).json()["data"]["skills"]
        got = server.http.get("/api/v1/search", params={"q": "slow sql joins", **asked}).json()["data"]["skills"]
        resolved = server.api("POST", "/resolve", json={"prompt": "slow sql joins", **asked}).json()["data"]["results"]
        return [hit["explanation"] for hit in (*posted, *got, *resolved)]

    # Replaced documents count in the weights of words until a thread has written the index again.
    server.wait_for(lambda: (found := explanations()) == [found[0]] * 3)
    why = explanations()[0]
    assert set(why) == {"tier", "evidence", "parts", "cosine", "words", "examples"}
    assert (why["tier"], why["examples"]) == ("evidence", [])
    assert set(why["parts"]) == {"words", "vectors"}
    assert {"word": "sql", "fields": ["name", "id", "description"]}.items() <= why["words"][0].items()


def test_who_does_not_ask_gets_no_explanation(server: RunningServer) -> None:
    assert "explanation" not in server.search("slow sql joins", explain=False)["skills"][0]
    assert server.api("POST", "/search", json={"query": "x", "explain": "yes"}).status_code == 400


def test_reindexing_touches_only_what_changed(server: RunningServer) -> None:
    data = server.api("POST", "/reindex").json()["data"]
    assert (data["reindexed"], data["failed"], data["mode"]) == (0, 0, "hybrid")
    assert data["skipped"] == data["count"] == server.status()["skills"]
    forced = server.api("POST", "/reindex", json={"force": True}).json()["data"]
    assert forced["reindexed"] == forced["count"]
    one = server.api("POST", "/reindex/sql-review", json={"force": True}).json()["data"]
    assert (one["reindexed"], one["count"]) == (1, 1)


def test_reindexing_what_is_not_there_names_it(server: RunningServer) -> None:
    for answer in (
        server.api("POST", "/reindex/absent-skill"),
        server.api("POST", "/reindex", json={"skill_ids": ["sql-review", "absent-skill"]}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "SKILL_NOT_FOUND")
        assert "absent-skill" in answer.json()["error"]["message"]


def test_a_reindexing_in_the_background_tells_its_progress(server: RunningServer) -> None:
    started = server.api("POST", "/reindex?async=true", json={"force": True})
    assert started.status_code == 202
    where = started.headers["Location"]
    server.wait_for(lambda: server.http.get(where).json()["data"]["status"] == "done")
    data = server.http.get(where).json()["data"]
    assert data["done"] == data["total"] == data["result"]["reindexed"] == server.status()["skills"]
    assert server.api("GET", "/reindex/no-such-job").json()["error"]["code"] == "NOT_FOUND"


def test_the_status_says_how_things_stand(server: RunningServer) -> None:
    status = server.status()
    assert (status["status"], status["profile"], status["writable"], status["drift"]) == ("ok", "local", True, 0)
    assert status["indexed"] == status["skills"] > 0
    assert status["embedding"]["provider"] == "hosted"
    assert "travel_plan" in status["warnings"]


def test_the_api_key_is_nowhere_to_be_seen(server: RunningServer) -> None:
    shown = server.http.get("/schema/openapi.json").text + str(server.status()) + server.log.read_text()
    assert "canary" not in shown


@pytest.mark.parametrize("vectors", ["memory", "database"])
def test_a_search_says_how_far_the_vectors_are_and_so_does_the_log(
    tmp_path: Path, database_url: DatabaseUrl, vectors: str
) -> None:
    if vectors == "database" and "sqlite" in database_url.reveal():
        pytest.skip("only PostgreSQL searches vectors itself")
    for number in range(3):
        write_skill(tmp_path / "skills", f"shelf-{number}", f"Puts book {number} back")
    may_embed = threading.Event()

    def slow_for_skills(request: Request) -> None:
        if any("Puts" in text for text in request.texts):
            may_embed.wait(PATIENCE_SECONDS)
        honest(request)

    with EmbeddingServer() as provider:
        provider.answer = slow_for_skills
        hosted = ("--embedding-provider", "hosted", "--embedding-base-url", provider.url)
        arguments = (*hosted, "--limits-search-fallback-seconds", "30")
        environment = {"SKILL_REGISTRY_DATABASE_URL": database_url.reveal(), "OPENAI_API_KEY": "sk-canary-0123456789"}
        with RunningServer(tmp_path, *arguments, "--search-vectors", vectors, env=environment) as running:
            running.wait_for(lambda: running.status()["skills"] == 3)
            before = running.search("book")
            assert (before["mode"], before["count"]) == ("keyword", 3)
            assert [text.split(" skills")[0] for text in before["warnings"]] == ["indexing: 0 of 3"]
            status = running.status()
            assert (status["indexed"], status["pending"]) == (0, 3)
            assert "ready: " not in running.log.read_text()
            may_embed.set()
            running.wait_for(lambda: f"ready: {running.url}" in running.log.read_text())
            after = running.search("book")
            assert (after["mode"], after["warnings"]) == ("hybrid", [])


def test_an_answer_has_as_many_whole_texts_as_it_may_hold(tmp_path: Path) -> None:
    text = "quaint " * 130_000
    for number in range(6):
        write_skill(tmp_path / "skills", f"quaint-{number}", "Does quaint things.", body=text)
    with RunningServer(tmp_path) as running:
        found = running.search("quaint", content="full")
        texts = [hit.get("content") for hit in found["skills"]]
        assert [one and len(one) for one in texts] == [*[len(text)] * 4, None, None]
        assert found["warnings"] == [
            "content: only the first 4 hits have it, because the texts are too large for one answer"
        ]
        resolved = running.api("POST", "/resolve", json={"prompt": "quaint", "limit": 6, "content": "full"})
        assert ["content" in one for one in resolved.json()["data"]["results"]] == [*[True] * 4, False, False]
        previews = running.search("quaint", content="preview")
        assert [hit["content"] for hit in previews["skills"]] == [text[:500]] * 6
        assert previews["warnings"] == []
