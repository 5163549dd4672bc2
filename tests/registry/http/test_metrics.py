"""Figures for Prometheus: well-formed, true, and of bounded number."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.embedding_server import EmbeddingServer
from support.servers import RunningServer, bearer, new_skill

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(server: RunningServer) -> Samples:
    """Return every sample under its name and labels, as Prometheus would read them."""
    answer = server.http.get("/metrics", headers=bearer(server.token("manager")))
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def requests(found: Samples, method: str, route: str, status: int) -> float:
    labels = (("method", method), ("route", route), ("status", str(status)))
    return found.get(("skill_registry_requests_total", labels), 0)


def test_requests_are_counted_by_their_route(registry: RunningServer) -> None:
    manager, before = bearer(registry.token("manager")), samples(registry)
    for skill_id in ("counted-one", "counted-two"):
        registry.api("POST", "/skills", json=new_skill(skill_id), headers=manager)
        registry.api("GET", f"/skills/{skill_id}", headers=manager)
    registry.api("GET", "/skills/counted-one")
    after = samples(registry)
    one = "/api/v1/skills/{id}"
    counted = [
        requests(after, *of) - requests(before, *of)
        for of in (("POST", "/api/v1/skills", 201), ("GET", one, 200), ("GET", one, 401))
    ]
    assert counted == [2, 2, 1]


def test_a_search_is_counted_when_it_is_run_and_a_request_each_time(registry: RunningServer) -> None:
    manager, before = bearer(registry.token("manager")), samples(registry)
    for _ in range(3):
        registry.api("POST", "/search", json={"query": "counted once"}, headers=manager)
    after = samples(registry)
    run = ("skill_registry_searches_total", (("mode", "keyword"),))
    assert after[run] - before.get(run, 0) == 1
    assert requests(after, "POST", "/api/v1/search", 200) - requests(before, "POST", "/api/v1/search", 200) == 3


def test_the_index_is_told_as_it_stands(registry: RunningServer) -> None:
    registry.api("POST", "/skills", json=new_skill("indexed-one"), headers=bearer(registry.token("manager")))
    found = samples(registry)
    status = registry.status()
    for name in ("indexed", "pending", "drift", "generation"):
        assert found[f"skill_registry_index_{name}", ()] == status[name]


def test_embedding_is_told_as_it_goes(tmp_path: Path) -> None:
    hosted = ("--embedding-provider", "hosted", "--embedding-model", "small", "--embedding-dimension", "8")
    with (
        EmbeddingServer(8) as provider,
        RunningServer(
            tmp_path, "--profile", "registry", *hosted, env={"OPENAI_API_KEY": "sk", "OPENAI_BASE_URL": provider.url}
        ) as server,
    ):
        server.api("POST", "/skills", json=new_skill("embedded-one"), headers=bearer(server.token("manager")))
        server.wait_for(lambda: server.status()["pending"] == 0)
        found = samples(server)
        assert found["skill_registry_embedded_total", ()] == 1
        assert [value for (name, _), value in found.items() if name == "skill_registry_vectors"] == [1]


def test_outsiders_cannot_make_the_figures_grow(registry: RunningServer) -> None:
    registry.http.get("/nothing-0")
    before = len(samples(registry))
    for number in range(20):
        registry.http.get(f"/nothing-{number}")
        registry.http.get(f"/api/v1/skills/nothing-{number}")
        registry.http.request("BREW", "/")
    after = samples(registry)
    assert len(after) <= before + 40
    assert not any("nothing-" in value for _, labels in after for _, value in labels)


@pytest.mark.parametrize(("role", "status"), [("user", 403), ("manager", 200), ("admin", 200)])
def test_figures_are_for_managers(registry: RunningServer, role: str, status: int) -> None:
    assert registry.http.get("/metrics", headers=bearer(registry.token(role))).status_code == status
    assert registry.http.get("/metrics").status_code == 401


def test_the_local_profile_has_no_figures(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server:
        assert server.http.get("/metrics").status_code == 404
