"""What the page of a skill gets with one request."""

import json
from pathlib import Path
from typing import Any

from support.publishing import Registry, skill_package
from support.servers import RunningServer, write_skill


def test_a_view_has_what_its_parts_have(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "anvil", "Use the anvil of a workshop.", "# Steps\n\n<script>alert(1)</script>\n")
    (tmp_path / "skills" / "anvil" / "notes.txt").write_text("hot")
    with RunningServer(tmp_path) as server:
        view = server.api("GET", "/skills/anvil/view").json()["data"]
        assert view["skill"] == server.api("GET", "/skills/anvil").json()["data"]
        content = server.api("GET", "/skills/anvil/content", params={"format": "html"}).json()["data"]["content"]
        assert view["content"] == content
        assert "<script" not in content
        assert view["files"] == server.api("GET", "/skills/anvil/files").json()["data"]
        assert view["dependents"] == server.api("GET", "/skills/anvil/dependents").json()["data"]
        assert view["versions"] == []
        assert server.api("GET", "/skills/nothing/view").status_code == 404
        server.wait_for(lambda: server.api("GET", "/skills/anvil/usage").json()["data"]["days"])
        [day] = server.api("GET", "/skills/anvil/usage").json()["data"]["days"]
        assert day["read"] == 1


def test_a_view_has_the_versions_of_the_index_newest_first(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        for version in ("1.0.0", "1.1.0", "1.2.0"):
            registry.finished(registry.publish(skill_package("whittle", version=version)))
        registry.finished(registry.publish(skill_package("carve", needs="acme/whittle@^1.0")))
        ann = registry.caller("acme/ann")
        view = registry.get("/api/v1/skills/acme/whittle/view", ann).json()["data"]
        lines = registry.get("/index/acme/whittle", ann).text.splitlines()
    assert [one["version"] for one in view["versions"]] == ["1.2.0", "1.1.0", "1.0.0"]
    assert view["skill"]["version"] == "1.2.0"
    assert [one["id"] for one in view["dependents"]] == ["acme/carve"]
    assert all(one["checksum"] in line for one, line in zip(view["versions"], reversed(lines), strict=True))
    assert {file["path"] for file in view["files"]} >= {"SKILL.md"}


EVALS = {"evals": [{"prompt": "Forge a hook", "expected_output": "A hook", "assertions": ["It holds", "It is black"]}]}


def met(view: Any) -> set[str]:
    return {row["name"] for row in view["checklist"]["rows"] if row["met"]}


def test_a_view_says_what_a_careful_author_has_given(tmp_path: Path) -> None:
    skills = tmp_path / "skills"
    write_skill(skills, "bare", "Use what there is of a workshop.")
    rich = {"author": "Ann", "tags": "iron", "examples": "forge a hook"}
    write_skill(skills, "rich", "Use the whole workshop.", **rich)
    text = (skills / "rich" / "SKILL.md").read_text()
    (skills / "rich" / "SKILL.md").write_text(text.replace("metadata:", "license: MIT\nmetadata:", 1))
    for name in ("rich", "bare"):
        (skills / name / "evals").mkdir()
    (skills / "rich" / "evals" / "evals.json").write_text(json.dumps(EVALS))
    (skills / "bare" / "evals" / "evals.json").write_text("[" * 100_000)
    with RunningServer(tmp_path) as server:
        view = server.api("GET", "/skills/rich/view").json()["data"]
        assert met(view) == {"license", "author", "labels", "examples", "evals", "format", "findings"}
        assert (view["checklist"]["met"], view["checklist"]["total"]) == (7, 8)
        assert view["evals"]["count"] == 1
        assert view["evals"]["cases"][0]["assertions"] == ["It holds", "It is black"]
        view = server.api("GET", "/skills/bare/view").json()["data"]
        assert "evals" not in met(view)
        assert view["evals"] == {"count": 0, "assertions": 0, "cases": [], "problem": "it is not valid JSON"}
        (skills / "bare" / "evals" / "evals.json").write_text(json.dumps(EVALS))
        server.wait_for(lambda: "evals" in met(server.api("GET", "/skills/bare/view").json()["data"]))


def test_evals_of_a_published_skill_come_from_its_package(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        package = skill_package("whittle", files={"evals/evals.json": json.dumps(EVALS).encode()})
        registry.finished(registry.publish(package))
        ann = registry.caller("acme/ann")
        for _ in range(2):
            view = registry.get("/api/v1/skills/acme/whittle/view", ann).json()["data"]
            assert view["evals"]["count"] == 1
            assert "evals" in met(view)
