"""Agentic Resource Discovery: search, list and catalog, in both profiles; the real client is in `tests/clients`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.publishing import Registry, skill_package
from support.routes import REGISTRY_MODE
from support.servers import RunningServer, new_skill, write_skill


class Host:
    """A service with the skill `whittle`, one without files or one that is disabled, and a credential that may read."""

    def __init__(self, server: RunningServer, skill_id: str, headers: dict[str, str]) -> None:
        self.server = server
        self.skill_id = skill_id
        self.headers = headers

    def get(self, path: str) -> httpx.Response:
        return self.server.http.get(path, headers=self.headers)

    def post(self, body: Any) -> httpx.Response:
        return self.server.http.post("/ard/search", json=body, headers=self.headers)

    def search(self, text: str, **more: Any) -> dict[str, Any]:
        answer = self.post({"query": {"text": text}, **more})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture(scope="module", params=["local", REGISTRY_MODE])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder: Path = tmp_path_factory.mktemp("ard")
    if request.param == "local":
        write_skill(folder / "skills", "whittle", "Carves zebrawood spoons with great care.")
        for number in range(12):
            write_skill(folder / "skills", f"plane-{number:02}", f"Planes boards, the way number {number}.")
        with RunningServer(folder) as server:
            yield Host(server, "whittle", {})
        return
    with Registry(folder) as registry:
        package = skill_package("whittle", body="# Carves zebrawood spoons\n")
        assert registry.finished(registry.publish(package))["status"] == "accepted"
        for number in range(12):
            body = new_skill(f"plane-{number:02}", description=f"Planes boards, the way number {number}.")
            assert registry.http.post("/v1/skills", json=body, headers=registry.caller()).status_code == 201
        yield Host(registry, "acme/whittle", registry.caller("reader", "user"))


def test_a_search_leads_to_the_file_of_the_best_skill(host: Host) -> None:
    found = host.search("zebrawood spoons")
    (best,) = found["results"]
    name = host.skill_id.replace("/", ":")
    assert best["identifier"] == f"urn:air:localhost.localdomain:{name}"
    assert (best["displayName"], best["type"]) == ("whittle", "application/ai-skill")
    assert best["source"] == f"{host.server.url}/ard"
    assert isinstance(best["score"], int)
    assert 0 < best["score"] <= 100
    assert host.get(best["url"]).text.startswith("---\nname: whittle\n")
    assert "pageToken" not in found


@pytest.mark.parametrize("federation", ["auto", "referrals", "none"])
def test_every_federation_answers_from_here_alone(host: Host, federation: str) -> None:
    found = host.search("whittle", federation=federation)
    assert found["results"][0]["displayName"] == "whittle"
    assert set(found) == {"results"}


def test_the_type_of_entries_can_be_filtered(host: Host) -> None:
    for types, number in ((["application/ai-skill", "x"], 1), ("application/ai-skill", 1), (["x"], 0), ([], 0)):
        answer = host.post({"query": {"text": "zebrawood", "filter": {"type": types}}})
        assert len(answer.json()["results"]) == number
    answer = host.post({"query": {"text": "zebrawood", "filter": {"publisher": ["x"]}}})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ARGUMENT")


def test_results_are_paged(host: Host) -> None:
    seen: list[str] = []
    more: dict[str, Any] = {}
    while True:
        found = host.search("planes boards", pageSize=5, **more)
        seen += [one["displayName"] for one in found["results"]]
        if "pageToken" not in found:
            break
        more = {"pageToken": found["pageToken"]}
    assert len(seen) == len(set(seen)) == 12


def test_the_list_has_every_enabled_skill_once(host: Host) -> None:
    seen, query = [], ""
    while True:
        page = host.get(f"/ard/agents?pageSize=5{query}").json()
        seen += [one["identifier"] for one in page["items"]]
        assert page["total"] == 13
        if "pageToken" not in page:
            break
        query = f"&pageToken={page['pageToken']}"
    assert len(seen) == len(set(seen)) == 13
    assert f"urn:air:localhost.localdomain:{host.skill_id.replace('/', ':')}" in seen
    assert len(host.get("/ard/agents?filter=type = 'application/ai-skill'").json()["items"]) == 13
    assert host.get("/ard/agents?filter=type='application/a2a-agent-card%2Bjson'").json() == {"items": [], "total": 0}


def test_the_catalog_names_the_search_and_no_skill(host: Host) -> None:
    answer = host.server.http.get("/.well-known/ai-catalog.json")
    (named,) = answer.json()["entries"]
    assert answer.json()["specVersion"] == "1.0"
    assert (named["type"], named["url"]) == ("application/ai-registry+json", f"{host.server.url}/ard/search")
    assert "whittle" not in answer.text


def test_identifiers_have_the_domain_of_the_public_url(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "whittle", "Carves zebrawood spoons with great care.")
    with RunningServer(tmp_path, "--public-url", "https://skills.example.org/") as server:
        (found,) = Host(server, "whittle", {}).search("zebrawood")["results"]
        assert found["identifier"] == "urn:air:skills.example.org:whittle"
        assert found["url"] == "https://skills.example.org/api/v1/skills/whittle/files/SKILL.md"


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        {"query": "zebrawood"},
        {"query": {}},
        {"query": {"text": " "}},
        {"query": {"text": "x", "filter": {"type": 5}}},
        {"query": {"text": "x"}, "federation": "all"},
        {"query": {"text": "x"}, "pageSize": 0},
        {"query": {"text": "x"}, "pageSize": 101},
        {"query": {"text": "x"}, "pageToken": "x"},
        {"query": {"text": "x"}, "pageToken": "-1"},
        {"query": {"text": "x"}, "pageToken": "9" * 50},
        {"query": {"text": "x"}, "pageToken": "¹"},
    ],
    ids=str,
)
def test_faults_are_in_the_form_of_the_draft(host: Host, body: Any) -> None:
    answer = host.post(body)
    assert answer.status_code == 400, answer.text
    assert set(answer.json()) == {"errorCode", "message"}
    assert answer.json()["errorCode"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize("query", ["pageSize=0", "pageSize=x", "pageToken=absent", "filter=x"])
def test_faults_of_the_list_are_too(host: Host, query: str) -> None:
    answer = host.get(f"/ard/agents?{query}")
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ARGUMENT")


def test_without_a_credential_a_private_registry_answers_401(host: Host) -> None:
    if not host.headers:
        pytest.skip("the local profile has no credentials")
    for method, path in (("POST", "/ard/search"), ("GET", "/ard/agents")):
        refused = host.server.http.request(method, path, json={"query": {"text": "x"}} if method == "POST" else None)
        assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert set(refused.json()) == {"errorCode", "message"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
BODIES = VALUES | st.fixed_dictionaries(
    {"query": VALUES | st.fixed_dictionaries({"text": st.text(max_size=60)}, optional={"filter": VALUES})},
    optional={"federation": VALUES, "pageSize": VALUES, "pageToken": VALUES},
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=BODIES)
def test_drawn_bodies_give_an_answer_or_a_fault(host: Host, body: Any) -> None:
    answer = host.post(body)
    assert answer.status_code in {200, 400}, answer.text
    assert set(answer.json()) in ({"errorCode", "message"}, {"results"}, {"results", "pageToken"})
