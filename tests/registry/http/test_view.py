"""What the page of a skill gets with one request."""

from pathlib import Path

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
