"""A service below a path of a host: by its setting, and by the headers of a trusted proxy."""

import re
from collections.abc import Iterator

import httpx
import pytest

from support.servers import RunningServer, write_skill
from support.waiting import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A service whose setting has a path."""
    folder = tmp_path_factory.mktemp("public")
    write_skill(folder / "skills", "tea-brewing", "Brews tea for everybody who is thirsty.")
    with RunningServer(
        folder, "--public-url", "https://host.example/hub/", "--allowed-host", "host.example"
    ) as running:
        yield running


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A service that trusts the proxies of this machine."""
    folder = tmp_path_factory.mktemp("trusting")
    with RunningServer(folder, "--trusted-proxy", "127.0.0.1", "--allowed-host", "host.example") as running:
        yield running


def get(server: RunningServer, path: str, **headers: str) -> httpx.Response:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.get(f"{server.url}{path}", headers=fields, timeout=PATIENCE_SECONDS)


def script_of(page: httpx.Response) -> str:
    return re.sub(r"\b[0-9a-f]{16}\b", "VERSION", re.findall(r'type="module" src="([^"]+)"', page.text)[0])


@pytest.mark.parametrize("path", ["/", "/hub/", "/hub"])
def test_the_page_asks_below_the_path_whether_the_proxy_strips_it_or_not(public: RunningServer, path: str) -> None:
    page = get(public, path)
    assert page.status_code == 200
    assert script_of(page) == "/hub/ui/VERSION/js/app.js"
    assert '="/ui/' not in page.text


def test_redirects_lead_below_the_path(public: RunningServer) -> None:
    for path in ("/api/skills?limit=1", "/hub/api/skills?limit=1"):
        answer = get(public, path)
        assert (answer.status_code, answer.headers["Location"]) == (308, "/hub/api/v1/skills?limit=1")


def test_what_is_created_is_named_below_the_path(public: RunningServer) -> None:
    body = {"id": "coffee", "name": "Coffee", "description": "Makes coffee of all kinds.", "version": "1.0.0"}
    answer = httpx.post(f"{public.url}/hub/api/v1/skills", json=body, timeout=PATIENCE_SECONDS)
    assert (answer.status_code, answer.headers["Location"]) == (201, "/hub/api/v1/skills/coffee")


def test_the_openapi_document_names_the_path(public: RunningServer, trusting: RunningServer) -> None:
    assert get(public, "/schema/openapi.json").json()["servers"] == [{"url": "/hub"}]
    assert get(trusting, "/schema/openapi.json").json()["servers"] == [{"url": "/"}]
    prefixed = get(trusting, "/schema/openapi.json", X_Forwarded_Prefix="/tools/")
    assert prefixed.json()["servers"] == [{"url": "/tools"}]


def test_a_page_that_is_not_there_leads_below_the_path_too(public: RunningServer) -> None:
    missing = get(public, "/hub/nothing", Accept="text/html")
    assert missing.status_code == 404
    assert script_of(missing) == "/hub/ui/VERSION/js/app.js"


def test_a_page_has_an_etag_for_each_path(trusting: RunningServer) -> None:
    plain, below = get(trusting, "/"), get(trusting, "/", X_Forwarded_Prefix="/hub")
    assert plain.headers["ETag"] != below.headers["ETag"]
    assert get(trusting, "/", X_Forwarded_Prefix="/hub", If_None_Match=below.headers["ETag"]).status_code == 304


def test_only_trusted_proxies_name_the_path(public: RunningServer, trusting: RunningServer) -> None:
    assert script_of(get(trusting, "/", X_Forwarded_Prefix="/tools")) == "/tools/ui/VERSION/js/app.js"
    assert script_of(get(public, "/", X_Forwarded_Prefix="/tools")) == "/hub/ui/VERSION/js/app.js"


ODD = ["//evil.example", '/"><script>', "/a b", "hub", "/..", "/a/../b", "/" + "a" * 5000, "/%2e", "", "/"]


@pytest.mark.parametrize("prefix", ODD)
def test_an_odd_prefix_counts_for_nothing(trusting: RunningServer, prefix: str) -> None:
    assert get(trusting, "/", X_Forwarded_Prefix=prefix).text == get(trusting, "/").text


def test_the_host_that_a_trusted_proxy_names_is_the_host_of_the_request(trusting: RunningServer) -> None:
    headers = {"X_Forwarded_Host": "host.example", "X_Forwarded_Proto": "https", "X_Forwarded_Prefix": "/hub"}
    feed = get(trusting, "/feed.atom", **headers)
    assert "https://host.example/hub/" in feed.text
    assert get(trusting, "/feed.atom", X_Forwarded_Host="evil.example").status_code == 403


def test_the_host_that_another_caller_names_counts_for_nothing(public: RunningServer) -> None:
    assert get(public, "/feed.atom", X_Forwarded_Host="evil.example").status_code == 200


def test_probes_answer_with_and_without_the_path(public: RunningServer) -> None:
    assert get(public, "/healthz").status_code == 200
    assert get(public, "/hub/healthz").status_code == 200
