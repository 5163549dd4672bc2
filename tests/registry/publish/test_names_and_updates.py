"""Findings from a comparison with earlier publications: look-alike names, and additions of an update."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from registry.publish.lookalikes import skeleton
from support.publishing import Registry, skill_package
from support.servers import new_skill, write_skill
from support.waiting import wait_until

OTHER = "other/eve"
_MINORS = itertools.count(1)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


def publish(registry: Registry, name: str, version: str = "1.0.0", by: str = "acme/ann", **rest: Any) -> dict[str, Any]:
    job = registry.finished(registry.publish(skill_package(name, version, **rest), registry.caller(by)))
    assert job["status"] == "accepted", job
    return job


def kinds(job: dict[str, Any]) -> list[str]:
    return [warning["kind"] for warning in job["warnings"] if "agentskills.io" not in warning["message"]]


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


def test_a_name_of_the_same_scope_is_no_lookalike(registry: Registry) -> None:
    publish(registry, "own-name")
    for name in ("ownname", "own-names", "own-name-official"):
        assert kinds(publish(registry, name)) == []


@pytest.mark.parametrize(
    "name", ["brew-tea", "br3w-tea", "brew-tee", "acme-brew-tea", "brew-tea-acme", "brew-tea-official", "real-brew-tea"]
)
def test_a_name_near_that_of_another_scope_is_warned_of(registry: Registry, name: str) -> None:
    if registry.get("/api/v1/skills/acme/brew-tea").status_code == 404:
        publish(registry, "brew-tea")
    job = publish(registry, name, by=OTHER)
    assert kinds(job) == ["quality_warning"]
    assert "'acme/brew-tea'" in job["warnings"][0]["message"]
    assert risk(registry, f"other/{name}") == "none"
    assert kinds(publish(registry, "brew-tea", f"1.{next(_MINORS)}.0")) == []


def test_a_name_near_that_of_a_folder_or_a_record_is_warned_of(registry: Registry) -> None:
    write_skill(registry.skills_dir, "fold-maps", "Folds maps.")
    body = new_skill("read-maps", description="Reads maps.")
    made = registry.http.post("/api/v1/skills", json=body, headers=registry.caller("acme/ann"))
    assert made.status_code == 201, made.text
    wait_until(lambda: registry.get("/api/v1/skills/fold-maps").status_code == 200)
    for name, other in (("fold-maps", "fold-maps"), ("fo1d-maps", "fold-maps"), ("read-map", "read-maps")):
        job = publish(registry, name, by=OTHER)
        assert kinds(job) == ["quality_warning"], name
        assert f"'{other}'" in job["warnings"][0]["message"]
    body = new_skill("tidy-shed", description="Tidies a shed.")
    assert registry.http.post("/api/v1/skills", json=body, headers=registry.caller("acme/ann")).is_success
    assert kinds(publish(registry, "tidy-sheds")) == [], "the record is of the same scope"


def test_names_that_only_share_a_word_are_not_warned_of(registry: Registry) -> None:
    publish(registry, "sort-wool")
    for name in ("sort-wool-fast", "dye-wool", "sort-silk"):
        assert kinds(publish(registry, name, by=OTHER)) == [], name


def test_a_low_risk_filter_excludes_a_lookalike(registry: Registry) -> None:
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


def test_an_update_that_adds_scripts_or_urls_reports_them(registry: Registry) -> None:
    publish(registry, "growing", body="See https://example.org/a\n")
    both = "See https://example.org/a and https://example.org/b\n"
    job = publish(registry, "growing", "1.1.0", body=both, files={"scripts/run.sh": b"ls\n"})
    assert kinds(job) == ["quality_warning", "quality_warning"]
    notes = [warning for warning in job["warnings"] if "agentskills.io" not in warning["message"]]
    assert [warning["field"] for warning in notes] == ["scripts/run.sh", "SKILL.md"]
    assert changes(registry, "acme/growing", "1.1.0") == [warning["message"] for warning in notes]
    assert changes(registry, "acme/growing", "1.0.0") == []


def test_the_changes_of_a_version_remain_when_another_is_yanked(registry: Registry) -> None:
    for number in range(3):
        publish(registry, "yanked-later", f"1.{number}.0", body=f"https://example.org/{number}\n")
    path = "/api/v1/registry/skills/acme/yanked-later/1.2.0/yank"
    assert registry.http.post(path, headers=registry.caller()).status_code == 200
    assert len(changes(registry, "acme/yanked-later", "1.1.0")) == 1
    assert risk(registry, "acme/yanked-later") == "none"
