"""Uses of skills over HTTP: what counts, and where the counts are shown."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.publishing import Registry, metrics, skill_package
from support.servers import RunningServer, write_skill


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("usage")
    for name in ("anvil", "bellows", "chisel"):
        write_skill(folder / "skills", name, f"Use the {name} of a workshop.")
    with RunningServer(folder, "--embedding-provider", "none", env=database_setting) as running:
        yield running


def data(server: RunningServer, path: str, **options: Any) -> Any:
    answer = server.api("GET", path, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def total(server: RunningServer, skill_id: str) -> int:
    days = data(server, f"/skills/{skill_id}/usage")["days"]
    return sum(value for day in days for name, value in day.items() if name != "day")


def test_uses_are_counted_and_order_lists(server: RunningServer) -> None:
    for _ in range(3):
        data(server, "/skills/anvil/content")
    tool = {"name": "get_skill", "arguments": {"id": "bellows"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
    assert server.http.post("/mcp", json=message).status_code == 200
    found = server.search("workshop anvil")
    body = {"search_id": found["search_id"], "skill_id": "anvil", "outcome": "chosen"}
    assert server.api("POST", "/search/feedback", json=body).status_code == 200
    assert server.api("GET", "/skills/nothing/content").status_code == 404
    assert server.api("GET", "/skills/nothing/usage").status_code == 404
    server.wait_for(lambda: (total(server, "anvil"), total(server, "bellows")) == (2, 1))
    [day] = data(server, "/skills/anvil/usage")["days"]
    assert (day["read"], day["chosen"], day["installed"], day["downloaded"]) == (1, 1, 0, 0)
    for sort, ids in (("uses", ["anvil", "bellows", "chisel"]), ("unused", ["chisel", "bellows", "anvil"])):
        assert [card["id"] for card in data(server, "/skills", params={"sort": sort})] == ids
    shown = {card["id"]: card.get("uses_30d") for card in data(server, "/skills")}
    assert shown == {"anvil": 2, "bellows": 1, "chisel": None}
    assert data(server, "/skills/anvil")["uses_30d"] == 2
    hits = server.search("a bellows of the workshop")["skills"]
    assert {hit["skill"]["id"]: hit["skill"].get("uses_30d") for hit in hits}["bellows"] == 1


def test_a_download_counts_once_for_an_account_and_is_in_the_metrics(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        registry.finished(registry.publish(skill_package("whittle")))
        head = registry.http.head("/packages/acme/whittle/1.0.0.zip", headers=registry.caller("acme/cem", "user"))
        assert head.status_code == 200
        ann, ben = registry.caller("acme/ann"), registry.caller("acme/ben", "user")
        for caller in (ann, ann, ben):
            assert registry.get("/packages/acme/whittle/1.0.0.zip", caller).status_code == 200
        assert registry.http.get("/packages/acme/whittle/1.0.0.zip").status_code == 401
        registry.wait_for(
            lambda: (
                [
                    day["downloaded"]
                    for day in registry.get("/api/v1/skills/acme/whittle/usage", ann).json()["data"]["days"]
                ]
                == [2]
            )
        )
        for path in ("/api/v1/skills", "/api/skills", "/api/v1/skills?sort=source"):
            assert [one["uses_30d"] for one in registry.get(path, ann).json()["data"]] == [2], path
        [count] = [one.value for one in metrics(registry, "uses_total") if one.labels == {"kind": "downloaded"}]
        assert count == 3
        [refused] = [one.value for one in metrics(registry, "authentication_failures_total")]
        assert refused >= 1


def test_a_flag_switches_counting_off(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "anvil", "Use the anvil of a workshop.")
    with RunningServer(tmp_path, "--no-count-uses") as server:
        data(server, "/skills/anvil/content")
    # A stop writes what was counted.
    with RunningServer(tmp_path) as server:
        assert data(server, "/skills/anvil/usage")["days"] == []
