"""What only the skills and versions published before can show: a name like another's, what an update brings."""

from collections.abc import Iterator
from typing import Any

import pytest

from registry.publish.lookalikes import skeleton
from support.publishing import Registry, skill_package

OTHER = "other/eve"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


def publish(registry: Registry, name: str, version: str = "1.0.0", by: str = "acme/ann", **rest: Any) -> dict[str, Any]:
    job = registry.finished(registry.publish(skill_package(name, version, **rest), registry.caller(by)))
    assert job["status"] == "accepted", job
    return job


def kinds(job: dict[str, Any]) -> list[str]:
    return [warning["kind"] for warning in job["warnings"]]


def risk(registry: Registry, skill_id: str) -> str:
    found: str = registry.get(f"/api/v1/skills/{skill_id}").json()["data"]["findings"]["risk"]
    return found


@pytest.mark.parametrize("name", ["pdf-too1s", "pdftools", "p-d-f-to0ls", "pdf-tooIs"])
def test_names_that_look_alike_have_one_skeleton(name: str) -> None:
    assert skeleton(f"other/{name}") == skeleton("acme/pdf-tools")


def test_a_name_like_one_of_another_scope_is_flagged_from_its_first_version_on(registry: Registry) -> None:
    publish(registry, "pdf-tools")
    for version in ("1.0.0", "1.0.1"):
        job = publish(registry, "pdf-too1s", version, by=OTHER)
        assert kinds(job) == ["security_issue"]
        assert "'acme/pdf-tools'" in job["warnings"][0]["message"]
    assert risk(registry, "other/pdf-too1s") == "medium"
    assert risk(registry, "acme/pdf-tools") == "none"


def test_the_first_of_two_that_look_alike_is_not_flagged_later(registry: Registry) -> None:
    publish(registry, "wordlist")
    publish(registry, "word-list", by=OTHER)
    assert kinds(publish(registry, "wordlist", "1.1.0")) == []


def test_an_equal_name_or_one_of_the_own_scope_is_no_lookalike(registry: Registry) -> None:
    publish(registry, "same-name")
    assert kinds(publish(registry, "same-name", by=OTHER)) == []
    publish(registry, "own-name")
    assert kinds(publish(registry, "ownname")) == []


def test_a_lookalike_is_left_out_where_little_risk_is_asked_for(registry: Registry) -> None:
    publish(registry, "ledger-close")
    publish(registry, "ledger-c1ose", by=OTHER)
    body = {"query": "ledger-close", "filters": {"max_risk": "low"}}
    hits = registry.http.post("/api/v1/search", json=body, headers=registry.caller()).json()["data"]["skills"]
    ids = [hit["skill"]["id"] for hit in hits]
    assert ids[0] == "acme/ledger-close"
    assert "other/ledger-c1ose" not in ids


def changes(registry: Registry, skill_id: str, version: str) -> list[str]:
    found: list[str] = registry.get(f"/api/v1/skills/{skill_id}/versions/{version}").json()["data"]["changes"]
    return found


def test_an_update_that_brings_scripts_or_addresses_says_so(registry: Registry) -> None:
    publish(registry, "growing", body="See https://example.org/a\n")
    both = "See https://example.org/a and https://example.org/b\n"
    job = publish(registry, "growing", "1.1.0", body=both, **{"scripts/run.sh": b"ls\n"})
    assert kinds(job) == ["quality_warning", "quality_warning"]
    assert [warning["field"] for warning in job["warnings"]] == ["scripts/run.sh", "SKILL.md"]
    assert changes(registry, "acme/growing", "1.1.0") == [warning["message"] for warning in job["warnings"]]
    assert changes(registry, "acme/growing", "1.0.0") == []


def test_what_a_version_brought_stays_known_when_another_is_yanked(registry: Registry) -> None:
    for number in range(3):
        publish(registry, "yanked-later", f"1.{number}.0", body=f"https://example.org/{number}\n")
    path = "/api/v1/registry/skills/acme/yanked-later/1.2.0/yank"
    assert registry.http.post(path, headers=registry.caller()).status_code == 200
    assert len(changes(registry, "acme/yanked-later", "1.1.0")) == 1
    assert risk(registry, "acme/yanked-later") == "none"
