"""What a caller gets for its credential is kept by the caller alone, whatever header carries the credential."""

import httpx
import pytest

from support.credentials import make_key
from support.site import Site

SEARCH = {"query": "whittle"}
PACKAGE = "/packages/acme/whittle/1.0.0.zip"


@pytest.fixture(scope="module")
def with_key(site: Site) -> Site:
    """The site for a caller with an API key, if there are keys."""
    headers = {"x-api-key": make_key(site.server, role="admin")["key"]} if site.headers else {}
    return Site(site.server, site.routes, headers)


def directives(answer: httpx.Response) -> set[str]:
    values = answer.headers.get_list("Cache-Control")
    assert len(values) == 1, values
    return set(values[0].split(", "))


def test_no_shared_cache_may_keep_what_needs_a_credential(with_key: Site) -> None:
    kept = 0
    for route in with_key.routes:
        if route.method == "GET" and (route.guarded or route.role) and route.role != "public":
            answer = with_key.ask("GET", with_key.path(route))
            assert directives(answer) & {"private", "no-store"}, route
            kept += answer.status_code == 200
    assert kept > 20


@pytest.mark.parametrize("path", ["/api/v1/search", "/api/v1/resolve"])
def test_neither_may_one_keep_a_search(with_key: Site, path: str) -> None:
    body = SEARCH if path.endswith("search") else {"prompt": SEARCH["query"]}
    for _ in range(2):  # the second answer is from memory
        answer = with_key.server.http.post(path, json=body, headers=with_key.headers)
        assert (answer.status_code, directives(answer)) == (200, {"private", "no-cache"})


def test_refusals_are_not_kept_either(with_key: Site) -> None:
    anybody = Site(with_key.server, with_key.routes, {})
    for path in ("/api/v1/skills", "/api/v1/skills/absent-one", "/absent"):
        assert "private" in directives(anybody.ask("GET", path))


def test_304_says_the_same_as_200(with_key: Site) -> None:
    paths = ["/api/v1/skills", "/api/v1/skills/plain-one", "/tree/index.json", "/feed.atom", "/index/plain-one"]
    for path in [*paths, *([PACKAGE] if with_key.headers else [])]:
        whole = with_key.ask("GET", path)
        known = with_key.ask("GET", path, **{"If-None-Match": whole.headers["ETag"]})
        assert (whole.status_code, known.status_code) == (200, 304)
        assert directives(known) == directives(whole)


def test_files_of_the_page_and_tokens_keep_what_they_say(with_key: Site) -> None:
    assert directives(with_key.ask("GET", "/llms.txt")) == {"no-cache"}
    if with_key.headers:
        assert directives(with_key.server.http.post("/auth/token", json={"role": "user"})) == {"no-store"}
