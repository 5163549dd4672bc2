"""Near-copies over HTTP: one place, how many there are, all of them on request, and feedback for each."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.servers import RunningServer, write_copies, write_skill


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[RunningServer]:
    folder: Path = tmp_path_factory.mktemp("grouped")
    write_copies(folder / "skills", "backup", "backup-2", "my-backup")
    write_skill(folder / "skills", "restore", "Restore a folder from an encrypted archive.")
    with RunningServer(folder, "--embedding-provider", "none", env=dict(database_setting)) as running:
        yield running


def test_copies_share_a_place_and_are_named(server: RunningServer) -> None:
    data = server.search("encrypted archive")
    by_id = {hit["skill"]["id"]: hit.get("grouped") for hit in data["skills"]}
    assert len(by_id) == 2
    assert by_id.pop("restore") is None
    (grouped,) = by_id.values()
    assert grouped["count"] == 2
    assert sorted([*by_id, *grouped["ids"]]) == ["backup", "backup-2", "my-backup"]
    assert (data["count"], data["total"], data["total_is_floor"]) == (2, 2, False)


def test_every_way_to_search_groups_them_and_may_leave_them_apart(server: RunningServer) -> None:
    for path, key in (("/search?q=encrypted+archive", "skills"), ("/search?q=encrypted+archive&group=true", "skills")):
        hits = server.api("GET", path).json()["data"][key]
        assert sorted(hit.get("grouped", {}).get("count", 0) for hit in hits) == [0, 2]
    apart = server.api("GET", "/search?q=encrypted+archive&group=false").json()["data"]
    assert (apart["count"], apart["total"]) == (4, 4)
    assert not any("grouped" in hit for hit in apart["skills"])
    assert server.search("encrypted archive", group=False)["count"] == 4
    resolved = server.api("POST", "/resolve", json={"prompt": "encrypted archive"}).json()["data"]["results"]
    assert sorted(hit.get("grouped", {}).get("count", 0) for hit in resolved) == [0, 2]
    resolved = server.api("POST", "/resolve", json={"prompt": "encrypted archive", "group": False}).json()["data"]
    assert len(resolved["results"]) == 4


def test_a_wrong_option_is_refused(server: RunningServer) -> None:
    assert server.api("GET", "/search?q=archive&group=perhaps").status_code == 400
    assert server.api("POST", "/search", json={"query": "archive", "group": "no"}).status_code == 400


def test_a_copy_without_a_place_can_be_chosen(server: RunningServer) -> None:
    data = server.search("encrypted archive")
    copy = next(hit["grouped"]["ids"][-1] for hit in data["skills"] if "grouped" in hit)
    body = {"search_id": data["search_id"], "skill_id": copy, "outcome": "chosen"}
    answer = server.api("POST", "/search/feedback", json=body)
    assert answer.status_code == 200, json.dumps(answer.json())
    assert answer.json()["data"]["learned"] is True
