"""Two services, both real: what a registry withdraws is said at once by the service that has installed it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.git_client import GitClient
from support.publishing import Registry, metrics, skill_package
from support.servers import RunningServer

ALLOWED = ("--outbound-allowed-host", "127.0.0.1")
WHY, INSTEAD = "it reads the keys of its user", "acme/coffee@^2"
NOTE = {"reason": WHY, "replacement": INSTEAD}


class Pair(NamedTuple):
    """A registry, and a service that has it as the source `hub` and installs from it."""

    registry: Registry
    service: RunningServer

    def install(self, name: str, *versions: str) -> None:
        """Publish versions of `acme/<name>`, and install the newest."""
        for version in versions:
            published = self.registry.finished(self.registry.publish(skill_package(name, version)))
            assert published["status"] == "accepted", published
        self.service.wait_for(lambda: f"hub/acme.{name}" in self.service.found(name))
        answer = self.service.api("POST", "/skills", json={"origin": f"acme/{name}"})
        assert answer.status_code == 201, answer.text
        assert "withdrawn" not in answer.json()["data"]

    def change(self, path: str, body: Any = NOTE) -> None:
        """Withdraw or restore something, as an administrator."""
        admin = self.registry.caller("root", "admin")
        self.registry.http.post(f"/api/v1/registry/skills/{path}", json=body, headers=admin).raise_for_status()

    def withdrawn(self, skill_id: str) -> Any:
        """Return how the service says that a skill is withdrawn."""
        return self.service.api("GET", f"/skills/{skill_id}").json()["data"].get("withdrawn")

    def becomes(self, skill_id: str, state: str | None) -> dict[str, Any]:
        """Wait until the service says that a skill is withdrawn so, and return all that it says."""
        self.service.wait_for(lambda: (self.withdrawn(skill_id) or {}).get("state") == state)
        return dict(self.withdrawn(skill_id) or {})

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return what a tool of MCP answers."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = self.service.http.post("/mcp", json=body, headers={"Accept": "application/json, text/event-stream"})
        assert answer.status_code == 200, answer.text
        return dict(answer.json()["result"])

    def resolved(self, prompt: str) -> list[str]:
        """Return the skills that an agent is told of."""
        answer = self.service.api("POST", "/resolve", json={"prompt": prompt})
        return [skill["skill_id"] for skill in answer.json()["data"]["results"]]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    with Registry(folder / "a") as registry, RunningServer(folder / "b", *ALLOWED, env=database_setting) as service:
        key = registry.http.post(
            "/api/v1/auth/keys", json={"name": "b", "role": "user"}, headers=registry.caller("root", "admin")
        ).json()["data"]["key"]
        source = {"name": "hub", "url": registry.url, "api_key": key}
        service.api("POST", "/registry/sources", json=source).raise_for_status()
        yield Pair(registry, service)


def test_a_revoked_skill_that_is_installed_is_marked_everywhere_and_leaves_agents(pair: Pair, tmp_path: Path) -> None:
    pair.install("tea", "1.0.0")
    assert "tea" in pair.resolved("tea")
    pair.change("acme/tea/1.0.0/revoke")
    said = pair.becomes("tea", "revoked")
    assert (said["reason"], said["replacement"]) == (WHY, INSTEAD)
    card = next(hit["skill"] for hit in pair.service.search("tea")["skills"] if hit["skill"]["id"] == "tea")
    assert card["withdrawn"] == said
    assert "tea" not in pair.resolved("tea")
    assert pair.tool("search_skills", query="tea")["structuredContent"]["skills"] == []
    first, _, _ = pair.tool("get_skill", id="tea")["content"][0]["text"].partition("\n")
    assert first.startswith("WARNING of the registry, not of the skill: version 1.0.0 was revoked on ")
    assert f'Its reason: "{WHY}". Do not follow this skill' in first
    clone = GitClient(tmp_path / "git").run("clone", f"{pair.service.url}/git/tea.git")
    assert clone.returncode == 0
    assert f"remote: WARNING of the registry: version 1.0.0 was revoked on {said['at'][:10]}: {WHY}" in clone.stderr
    plugins = GitClient(tmp_path / "all")
    plugins("clone", f"{pair.service.url}/git/marketplace.git", "all")
    assert f"[revoked on {said['at'][:10]}: {WHY}" in (tmp_path / "all/all/.claude-plugin/marketplace.json").read_text()
    notices = pair.service.status()["notices"]
    assert notices == {"tea": f"version 1.0.0 was revoked on {said['at'][:10]}: {WHY}; use {INSTEAD} instead"}


def test_a_yank_and_its_undoing_are_followed_also_where_another_version_is_listed(pair: Pair) -> None:
    pair.install("ocr", "1.0.0", "1.1.0")
    pair.change("acme/ocr/1.1.0/yank")
    assert pair.becomes("ocr", "yanked")["reason"] == WHY
    assert "ocr" in pair.resolved("ocr")
    (skill,) = pair.tool("search_skills", query="ocr")["structuredContent"]["skills"]
    assert skill["withdrawn"]["state"] == "yanked"
    pair.change("acme/ocr/1.1.0/unyank", None)
    pair.becomes("ocr", None)


def test_a_version_is_revoked_after_all_were_yanked(pair: Pair) -> None:
    pair.install("csv", "1.0.0")
    pair.change("acme/csv/1.0.0/yank")
    pair.becomes("csv", "yanked")
    pair.change("acme/csv/1.0.0/revoke", {"reason": "worse than we knew"})
    assert pair.becomes("csv", "revoked")["reason"] == "worse than we knew"


def test_a_deprecated_skill_is_marked_where_it_is_listed_and_where_it_is_installed(pair: Pair) -> None:
    pair.install("pdf", "1.0.0")
    for version in ("1.0.0",):
        pair.registry.finished(pair.registry.publish(skill_package("listed", version)))
    pair.service.wait_for(lambda: "hub/acme.listed" in pair.service.found("listed"))
    for name in ("pdf", "listed"):
        pair.change(f"acme/{name}/deprecate")
    assert pair.becomes("pdf", "deprecated")["replacement"] == INSTEAD
    assert pair.becomes("hub/acme.listed", "deprecated")["reason"] == WHY
    pair.change("acme/listed/undeprecate", None)
    pair.becomes("hub/acme.listed", None)


def test_an_installation_of_a_yanked_version_says_so(pair: Pair) -> None:
    for version in ("1.0.0", "1.1.0"):
        pair.registry.finished(pair.registry.publish(skill_package("exact", version)))
    pair.change("acme/exact/1.0.0/yank")
    pair.service.wait_for(lambda: "hub/acme.exact" in pair.service.found("exact"))
    answer = pair.service.api("POST", "/skills", json={"origin": "acme/exact@1.0.0"})
    assert (answer.status_code, answer.json()["data"]["withdrawn"]["reason"]) == (201, WHY), answer.text
    upgraded = pair.service.api("POST", "/skills/upgrade", json={"skill_id": "exact", "version": "1.1.0"}).json()
    assert upgraded["data"]["results"][0]["outcome"] == "updated", upgraded
    assert pair.withdrawn("exact") is None


def test_a_skill_of_which_all_versions_are_withdrawn_says_so_in_plain_words(pair: Pair) -> None:
    pair.registry.finished(pair.registry.publish(skill_package("gone", "1.0.0")))
    pair.change("acme/gone/1.0.0/yank")
    origin = {"type": "registry", "url": pair.registry.url, "skill": "acme/gone"}
    answer = pair.service.api("POST", "/skills", json={"origin": origin})
    message = answer.json()["error"]["message"]
    assert (answer.status_code, message.startswith("Skill 'acme/gone' has no version to install: every version")) == (
        404,
        True,
    ), message
    assert WHY in message


def test_a_registry_marks_what_it_has_installed_from_itself(tmp_path: Path) -> None:
    with Registry(tmp_path / "own") as registry:
        registry.finished(registry.publish(skill_package("tea", "1.0.0")))
        admin = registry.caller("acme/root", "admin")
        installed = registry.http.post("/api/v1/skills", json={"origin": "acme/tea"}, headers=admin)
        assert installed.status_code == 201, installed.text
        path = "/api/v1/registry/skills/acme/tea/1.0.0/revoke"
        registry.http.post(path, json=NOTE, headers=admin).raise_for_status()
        shown = registry.http.get("/api/v1/skills/tea", headers=admin).json()["data"]
        assert (shown["withdrawn"]["state"], shown["withdrawn"]["reason"]) == ("revoked", WHY)
        counted = {one.labels["state"]: one.value for one in metrics(registry, "installed_withdrawn")}
        assert counted == {"deprecated": 0, "yanked": 0, "revoked": 1}
        status = registry.http.get("/api/v1/status", headers=admin).json()["data"]
        assert WHY in status["notices"]["tea"]
        assert WHY not in registry.http.get("/api/v1/status").text
