"""Query parameters that an operation does not have: ignored, and named in the response."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.servers import RunningServer, write_skill


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("query")
    write_skill(folder / "skills", "pdf-forms", "Fill in pdf forms and read their fields.")
    with RunningServer(folder) as running:
        yield running


def test_an_unknown_parameter_is_named_in_a_header(server: RunningServer) -> None:
    answer = server.api("GET", "/skills?limit=1&colour=red&order=name")
    assert answer.status_code == 200
    assert answer.headers["X-Ignored-Query"] == "colour, order"


def test_known_parameters_are_not(server: RunningServer) -> None:
    for path in ("/skills?limit=1&offset=0&enabled=true", "/skills", "/search?q=forms&limit=1&scope=acme", "/status"):
        assert "X-Ignored-Query" not in server.api("GET", path).headers, path


def test_a_search_says_it_in_its_warnings_too(server: RunningServer) -> None:
    for _ in range(3):  # a search that is repeated may come from a cache
        answer = server.api("GET", "/search?q=forms&tag=pdf")
        assert answer.headers["X-Ignored-Query"] == "tag"
        assert "ignored: there is no query parameter 'tag'" in answer.json()["data"]["warnings"]
    assert "ignored" not in str(server.api("GET", "/search?q=forms").json()["data"]["warnings"])


def test_a_posted_search_says_so_of_its_query_string(server: RunningServer) -> None:
    answer = server.api("POST", "/search?limit=5", json={"query": "forms"})
    assert answer.headers["X-Ignored-Query"] == "limit"
    assert "ignored: there is no query parameter 'limit'" in answer.json()["data"]["warnings"]


def test_unknown_names_break_no_header(server: RunningServer) -> None:
    names = "&".join(f"p{number}%0d%0aX-Evil:%20{number}%C3%A9%22<b>=1" for number in range(30))
    answer = server.api("GET", f"/skills?{names}")
    assert answer.status_code == 200
    assert "X-Evil" not in answer.headers
    listed = answer.headers["X-Ignored-Query"].split(", ")
    assert listed[0] == "p0%0D%0AX-Evil%3A%200%C3%A9%22%3Cb%3E"
    assert len(listed) == 10
    long = server.api("GET", f"/search?q=forms&{'n' * 4000}=1")
    assert long.headers["X-Ignored-Query"] == "n" * 50


def test_a_fault_is_still_refused(server: RunningServer) -> None:
    assert server.api("GET", "/skills?limit=0&colour=red").status_code == 400
    assert server.api("GET", "/skills?colour=red&colour=blue").status_code == 400


def test_pages_take_any_parameter(server: RunningServer) -> None:
    answer = server.http.get("/?skill=pdf-forms&utm_source=news")
    assert answer.status_code == 200
    assert "X-Ignored-Query" not in answer.headers


def test_unknown_names_of_a_body_are_named_in_the_warnings(server: RunningServer) -> None:
    sent = {"query": "forms", "filters": {"maxRisk": "none", "tags": ["pdf"]}, "page": 2}
    for _ in range(2):  # the second answer comes from the cache
        warnings = server.api("POST", "/search", json=sent).json()["data"]["warnings"]
        for name in ("filters.maxRisk", "page"):
            assert f"ignored: a search has no field '{name}'" in warnings
    resolved = server.api("POST", "/resolve", json={"prompt": "forms", "topK": 3}).json()["data"]
    assert "ignored: a search has no field 'topK'" in resolved["warnings"]
    assert "ignored" not in str(server.api("POST", "/search", json={"query": "forms"}).json()["data"]["warnings"])


def test_filters_take_lists_of_which_a_skill_has_any(server: RunningServer) -> None:
    def count(**filters: object) -> int:
        return int(server.api("POST", "/search", json={"query": "forms", "filters": filters}).json()["data"]["total"])

    assert count(source=["local", "other"]) == count(source="local") == count(author=[]) == 1
    assert count(license=["MIT", "Apache-2.0"]) == count(source=["other"]) == 0
