"""Filters, orders and counts: each means the same in a search, in a list, in the tool of agents and in the command."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.servers import RunningServer, bearer, new_skill, write_skill

_SKILLS = 24
_LICENSES = ("MIT", "Apache-2.0", "GPL-3.0")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("filters")
    for number in range(_SKILLS):
        write_skill(
            folder / "skills",
            f"anchor-{number:02}",
            f"Drop the anchor of ship {number} in a harbour.",
            f"Lower the chain, part {number}.\n",
            tags="ship, even" if number % 2 == 0 else "ship, odd",
            license=_LICENSES[number % 3],
            author=f"Ann {number % 4}",
            **({"os": "macos"} if number == 1 else {"os": "linux"} if number == 2 else {}),
        )
    with RunningServer(folder, "--embedding-provider", "local", env=dict(database_setting)) as running:
        running.wait_for(lambda: running.is_embedded(_SKILLS))
        yield running


CASES: list[tuple[dict[str, Any], set[int]]] = [
    ({"tags": ["odd"]}, {n for n in range(_SKILLS) if n % 2}),
    ({"tags": ["odd", "even"]}, set()),
    ({"any_tags": ["odd", "EVEN"]}, set(range(_SKILLS))),
    ({"license": ["mit", "Apache-2.0"]}, {n for n in range(_SKILLS) if n % 3 < 2}),
    ({"author": ["ANN  1", "Ann 3"], "tags": ["ship"]}, {n for n in range(_SKILLS) if n % 2}),
    ({"not": {"tags": ["even"]}}, {n for n in range(_SKILLS) if n % 2}),
    ({"not": {"license": ["MIT", "GPL-3.0"]}, "tags": ["even"]}, {n for n in range(0, _SKILLS, 2) if n % 3 == 1}),
    ({"not": {"author": "Ann 0", "license": "MIT"}}, {n for n in range(_SKILLS) if n % 4 and n % 3}),
    ({"os": "darwin"}, set(range(_SKILLS)) - {2}),
    ({"os": ["macos", "linux"]}, set(range(_SKILLS))),
    ({"not": {"os": "Mac"}}, set(range(_SKILLS)) - {1}),
    ({"source": ["local", "elsewhere"], "installed": True}, set(range(_SKILLS))),
    ({"not": {"installed": True}}, set()),
    ({"max_risk": "none"}, set(range(_SKILLS))),
    ({"enabled": False}, set()),
]


def as_query(filters: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in filters.items():
        if isinstance(value, dict):
            pairs += as_query(value, f"{name}.")
        else:
            values = value if isinstance(value, list) else [value]
            pairs += [(prefix + name, str(each).lower() if isinstance(each, bool) else each) for each in values]
    return pairs


@pytest.mark.parametrize(("filters", "wanted"), CASES)
def test_a_filter_admits_the_same_skills_everywhere(
    server: RunningServer, filters: dict[str, Any], wanted: set[int]
) -> None:
    ids = {f"anchor-{number:02}" for number in wanted}
    query, question = as_query(filters), "drop the anchor of a ship"
    assert set(server.found(question, limit=100, filters=filters, mode="keyword")) == ids
    assert set(server.found(question, limit=100, filters=filters)) == ids
    answer = server.http.get("/api/v1/search", params=[("q", question), ("limit", "100"), *query])
    assert {hit["skill"]["id"] for hit in answer.json()["data"]["skills"]} == ids
    listed = server.http.get("/api/v1/skills", params=[("limit", "100"), ("sort", "name"), *query])
    assert [card["id"] for card in listed.json()["data"]] == sorted(ids)
    resolved = server.api("POST", "/resolve", json={"prompt": question, "limit": 100, "filters": filters})
    assert {each["skill_id"] for each in resolved.json()["data"]["results"]} == ids


def test_a_list_has_the_totals_and_facets_of_a_search_with_its_filters(server: RunningServer) -> None:
    filters = {"license": ["MIT", "Apache-2.0"], "not": {"tags": ["odd"]}}
    found = server.search("anchor", mode="keyword", filters=filters, facets=True, limit=1)
    listed = server.http.get("/api/v1/skills", params=[*as_query(filters), ("facets", "true"), ("limit", "3")]).json()
    assert listed["facets"] == found["facets"]
    assert listed["pagination"] == {"total": found["total"], "limit": 3, "offset": 0}
    assert listed["facets"]["licenses"] == [["Apache-2.0", 4], ["MIT", 4]]


def test_pages_of_a_list_follow_each_other(server: RunningServer) -> None:
    address: str | None = "/api/v1/skills?tags=odd&sort=name&limit=5"
    ids: list[str] = []
    while address:
        answer = server.http.get(address)
        ids += [card["id"] for card in answer.json()["data"]]
        address = answer.links.get("next", {}).get("url")
    assert ids == [f"anchor-{number:02}" for number in range(1, _SKILLS, 2)]
    refused = server.http.get("/api/v1/skills?tags=odd&cursor=MS4x")
    assert refused.json()["error"]["details"][0]["field"] == "cursor"


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_the_total_is_the_same_on_every_page_and_counts_no_weak_hits(server: RunningServer, mode: str) -> None:
    for query in ("drop the anchor", "a harbour for ship 7", "who sings this song"):
        every = server.search(query, mode=mode, limit=100)
        close = [hit for hit in every["skills"] if hit["relevance"] != "low"]
        pages = [{"limit": 1}, {"limit": 7, "offset": 20}, {"limit": 100, "offset": 90}, {"limit": 3, "facets": True}]
        for page in ({}, *pages):
            found = server.search(query, mode=mode, **page)
            assert (found["total"], found["total_is_floor"]) == (len(close), False)
        shown = server.search(query, mode=mode, limit=100, weak=False)
        assert [hit["skill"]["id"] for hit in shown["skills"]] == [hit["skill"]["id"] for hit in close]


def test_hits_come_in_another_order_without_weak_ones(server: RunningServer) -> None:
    found = server.search("drop the anchor of ship 7", sort="name", limit=100)
    ids = [hit["skill"]["id"] for hit in found["skills"]]
    assert ids == sorted(ids)
    assert len(ids) == found["total"]
    assert server.found("drop the anchor of ship 7", sort="name", limit=2, offset=2) == ids[2:4]
    created = [hit["skill"]["created_at"] for hit in server.search("anchor", sort="created", limit=9)["skills"]]
    assert created == sorted(created, reverse=True)


def test_unknown_names_are_warned_of_however_deep_they_are(server: RunningServer) -> None:
    filters = {"maxRisk": "none", "not": {"tag": "x"}}
    for path, body in (("/search", {"query": "anchor"}), ("/resolve", {"prompt": "anchor"})):
        answer = server.api("POST", path, json={**body, "filters": filters, "sorted": 1}).json()["data"]
        told = [warning for warning in answer["warnings"] if warning.startswith("ignored: ")]
        assert [warning.split("'")[1] for warning in told] == ["filters.maxRisk", "filters.not.tag", "sorted"]
    ignored = server.http.get("/api/v1/skills?tag=x&tags=odd").headers["x-ignored-query"]
    assert ignored == "tag"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"filters": {"not": {"max_risk": "huge"}}}, "filters.not.max_risk"),
        ({"filters": {"license": [""]}}, "filters.license[0]"),
        ({"filters": {"os": 5}}, "filters.os"),
        ({"sort": "downloads"}, "sort"),
        ({"weak": 1}, "weak"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(server: RunningServer, body: dict[str, Any], field: str) -> None:
    answer = server.api("POST", "/search", json={"query": "anchor", **body})
    assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (400, field)


def test_the_tool_of_agents_takes_every_filter(server: RunningServer) -> None:
    def call(**arguments: Any) -> tuple[list[str], str]:
        params = {"name": "search_skills", "arguments": {"query": "drop the anchor", "limit": 20, **arguments}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"Accept": "application/json, text/event-stream"}
        answer = server.http.post("/mcp", json=message, headers=headers)
        text = answer.text
        result = json.loads(text if text.startswith("{") else text.split("data: ", 1)[1])["result"]
        skills = result.get("structuredContent", {}).get("skills", [])
        return [skill["id"] for skill in skills], result["content"][0]["text"]

    wanted = {f"anchor-{number:02}" for number in range(1, _SKILLS, 2) if number % 3 == 0}
    assert set(call(license="MIT", **{"not": {"tags": ["even"]}}, sort="name")[0]) == wanted
    assert "a search has no field 'licence'" in call(licence="MIT")[1]


def test_an_overview_counts_all_and_names_what_is_new(server: RunningServer) -> None:
    answer = server.http.get("/api/v1/overview")
    found = answer.json()["data"]
    assert (found["total"], found["tags"]) == (_SKILLS, [["ship", 24], ["even", 12], ["odd", 12]])
    newest = server.http.get("/api/v1/skills", params={"limit": 100}).json()["data"][:-7:-1]
    assert [card["id"] for card in found["created"]] == [card["id"] for card in newest]
    assert (found["updated"], found["queries"]) == ([], [])  # all were added by one scan, and no name is of words only
    headers = {"If-None-Match": answer.headers["ETag"]}
    assert server.http.get("/api/v1/overview", headers=headers).status_code == 304


def test_a_comma_within_a_label_of_a_query_string_has_a_backslash(registry: RunningServer) -> None:
    manager = bearer(registry.token("manager"))
    for skill_id, capabilities in (
        ("comma-one", ["cool, then hammer", "Weld"]),
        ("comma-two", ["cool", "then hammer"]),
    ):
        made = registry.api("POST", "/skills", json=new_skill(skill_id, capabilities=capabilities), headers=manager)
        assert made.status_code == 201, made.text
    for given, found in (("cool\\, then hammer,weld", "comma-one"), ("cool, then hammer", "comma-two")):
        answer = registry.api("GET", "/skills", params={"capabilities": given}, headers=manager)
        assert [card["id"] for card in answer.json()["data"]] == [found]
