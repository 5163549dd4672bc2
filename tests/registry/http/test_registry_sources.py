"""Another registry as a source, both of them real: followed, with its key and its log watched."""

import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.commands import Done
from support.ports import free_port
from support.publishing import Registry, skill_package
from support.servers import RunningServer
from support.web_server import WebServer, redirect

ALLOWED = ("--outbound-allowed-host", "127.0.0.1")
MANY = 320


class Pair(NamedTuple):
    """A closed registry, an API key for it, and a service."""

    registry: Registry
    key: str
    service: RunningServer

    def publish(self, name: str, version: str = "1.0.0") -> None:
        """Publish `acme/<name>`."""
        job = self.registry.finished(self.registry.publish(skill_package(name, version)))
        assert job["status"] == "accepted", job

    def change(self, path: str) -> None:
        """Change a published skill as an administrator."""
        admin = self.registry.caller("root", "admin")
        self.registry.http.post(f"/api/registry/skills/{path}", headers=admin).raise_for_status()

    def add(self, name: str, **fields: Any) -> dict[str, Any]:
        """Add the registry as a source."""
        body = {"name": name, "url": self.registry.url} | fields
        answer = self.service.api("POST", "/registry/sources", json=body)
        assert answer.status_code == 201, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    def source(self, name: str) -> dict[str, Any]:
        """Return a source of the service."""
        return next(one for one in self.service.api("GET", "/registry/sources").json()["data"] if one["name"] == name)

    def follows(self, name: str, count: int) -> None:
        """Wait until a source has so many skills and no error."""
        self.service.wait_for(lambda: (self.source(name)["skills"], self.source(name)["error"]) == (count, None))


def api_key(registry: Registry) -> str:
    """Create an API key that may read."""
    admin = registry.caller("root", "admin")
    answer = registry.http.post("/api/v1/auth/keys", json={"name": "service", "role": "user"}, headers=admin)
    return str(answer.json()["data"]["key"])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, database_setting: Mapping[str, str]) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    with Registry(folder / "registry") as registry, RunningServer(folder / "b", *ALLOWED, env=database_setting) as b:
        pair = Pair(registry, api_key(registry), b)
        pair.publish("pdf")
        yield pair
        assert pair.key not in b.log.read_text() + registry.log.read_text()


def test_a_closed_registry_needs_its_key_which_no_answer_shows(pair: Pair) -> None:
    refused = pair.add("closed")
    assert (refused["type"], refused["skills"], "needs a credential" in refused["error"]) == ("registry", 0, True)
    pair.service.api("DELETE", "/registry/sources/closed").raise_for_status()
    added = pair.add("hub", api_key=pair.key)
    assert (added["type"], added["error"], added["skills"] >= 1) == ("registry", None, True)
    assert "hub/acme.pdf" in pair.service.found("pdf")
    wrong = pair.service.api("POST", "/registry/sources", json={"name": "x", "url": "http://[", "api_key": pair.key})
    again = pair.service.api("POST", "/registry/sources", json={"name": "hub", "url": "x", "api_key": pair.key})
    assert (wrong.status_code, again.status_code) == (400, 400)
    for path in ("/registry/sources", "/registry/skills", "/registry/sources/hub/marketplace", "/status", "/skills"):
        assert pair.key not in pair.service.api("GET", path).text
    assert pair.key not in wrong.text + again.text + pair.service.http.get("/schema/openapi.json").text


def test_what_changes_there_is_followed(pair: Pair) -> None:
    pair.add("near", api_key=pair.key)
    before = pair.source("near")["skills"]
    pair.publish("followed")
    pair.follows("near", before + 1)
    assert "near/acme.followed" in pair.service.found("followed")
    pair.publish("followed", "1.1.0")
    pair.service.wait_for(
        lambda: pair.service.api("GET", "/skills/near/acme.followed").json()["data"]["version"] == "1.1.0"
    )
    pair.change("acme/followed/1.1.0/yank")
    pair.service.wait_for(
        lambda: pair.service.api("GET", "/skills/near/acme.followed").json()["data"]["version"] == "1.0.0"
    )
    pair.change("acme/followed/1.0.0/revoke")
    pair.follows("near", before)
    assert pair.service.api("GET", "/skills/near/acme.followed").status_code == 404
    pair.service.api("DELETE", "/registry/sources/near").raise_for_status()
    assert "near/acme.pdf" not in pair.service.found("pdf")


def test_the_origin_of_a_skill_is_the_registry(pair: Pair) -> None:
    pair.add("origin", api_key=pair.key)
    flat = pair.service.api("GET", "/registry/sources/origin/marketplace").json()["data"]["skills"]
    (listed,) = (skill for skill in flat if skill["id"] == "acme/pdf")
    assert listed["download_url"] == f"{pair.registry.url}/packages/acme/pdf/1.0.0.zip"
    found = pair.service.api("POST", "/resolve", json={"prompt": "pdf", "limit": 50}).json()["data"]["results"]
    origins = {one["skill_id"]: one.get("origin") for one in found}
    assert origins["origin/acme.pdf"] == {"type": "registry", "url": pair.registry.url, "skill": "acme/pdf"}
    pair.service.api("DELETE", "/registry/sources/origin").raise_for_status()


def test_a_listed_skill_of_a_registry_is_chosen_and_installed_by_an_agent(pair: Pair) -> None:
    pair.add("agents", api_key=pair.key)
    searched = pair.service.search("pdf", limit=50)
    chosen = {"search_id": searched["search_id"], "skill_id": "agents/acme.pdf", "outcome": "chosen"}
    assert pair.service.api("POST", "/search/feedback", json=chosen).json()["data"]["learned"]
    arguments = {"name": "install_skill", "arguments": {"id": "agents/acme.pdf"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}
    result = pair.service.http.post("/mcp", json=call, headers={"MCP-Protocol-Version": "2025-11-25"}).json()["result"]
    assert result["structuredContent"]["skills"] == [
        {"id": "pdf", "version": "1.0.0", "installed": True, "risk": "none"}
    ]
    assert (pair.service.skills_dir / "pdf" / "SKILL.md").is_file()
    pair.service.api("DELETE", "/skills/pdf").raise_for_status()
    pair.service.api("DELETE", "/registry/sources/agents").raise_for_status()


def test_many_pages_are_read_and_kept_over_restarts(tmp_path: Path) -> None:
    port = free_port()
    registry = Registry(tmp_path / "registry", "--auth-anonymous-read", "--port", str(port))
    service = RunningServer(tmp_path / "service", *ALLOWED)
    with registry, service:
        pair = Pair(registry, "", service)
        caller = registry.caller()
        with ThreadPoolExecutor(4) as clients:
            packages = (skill_package(f"made-{number}") for number in range(MANY))
            answers = list(clients.map(lambda package: registry.publish(package, caller), packages))
        for answer in answers:
            registry.finished(answer)
        assert pair.add("hub")["error"] is None
        pair.follows("hub", MANY)
        assert "hub/acme.made-7" in service.found("made-7", limit=50)
        assert service.stop() == 0
        pair.publish("meanwhile")
        service.start()
        pair.follows("hub", MANY + 1)
        assert registry.stop() == 0
        service.wait_for(lambda: pair.source("hub")["error"])
        assert pair.source("hub")["skills"] == MANY + 1
        registry.start()
        pair.follows("hub", MANY + 1)


def test_a_log_that_was_rolled_back_or_forked_is_refused(tmp_path: Path) -> None:
    port = free_port()
    folder = tmp_path / "registry"
    registry = Registry(folder, "--auth-anonymous-read", "--port", str(port))
    with registry, RunningServer(tmp_path / "service", *ALLOWED) as service:
        pair = Pair(registry, "", service)
        pair.publish("first")
        registry.stop()
        for name in ("data", registry.remote.name):  # with an index that knows better, the registry itself would notice
            shutil.copytree(folder / name, tmp_path / "backup" / name)
        registry.start()
        pair.publish("second")
        assert pair.add("hub")["skills"] == 2
        registry.stop()
        for name in ("data", registry.remote.name):
            shutil.rmtree(folder / name)
            shutil.copytree(tmp_path / "backup" / name, folder / name)
        registry.start()
        service.wait_for(lambda: "rolled back" in (pair.source("hub")["error"] or ""))
        error = pair.source("hub")["error"]
        assert "3 entries with root" in error
        assert "2 entries with root" in error
        for name in ("third", "fourth"):
            pair.publish(name)
        service.wait_for(lambda: "forked" in (pair.source("hub")["error"] or ""))
        assert pair.source("hub")["skills"] == 2
        assert {"hub/acme.first", "hub/acme.second"} == set(service.found("first second third fourth"))


def test_a_registry_that_redirects_elsewhere_gets_the_key_to_itself(pair: Pair) -> None:
    with WebServer() as front, WebServer() as other:
        path = "/api/v1/registry/index/changes?after=0&limit=200"
        front.answers[path] = redirect(f"{other.url}{path}")
        body = {"name": "front", "type": "registry", "url": front.url, "api_key": pair.key}
        added = pair.service.api("POST", "/registry/sources", json=body).json()["data"]
        assert (added["skills"], "404" in added["error"]) == (0, True)
        assert pair.key in str(front.requests)
        assert other.requests
        assert pair.key not in str(other.requests)
        pair.service.api("DELETE", "/registry/sources/front").raise_for_status()


def test_a_key_can_be_in_the_configuration_file(pair: Pair, tmp_path: Path) -> None:
    config = tmp_path / "registry.toml"
    source = f'[[sources]]\nname = "hub"\ntype = "registry"\nurl = "{pair.registry.url}/"\n'
    config.write_text(f'{source}api_key = "{pair.key}"\n')
    with RunningServer(tmp_path, *ALLOWED, "--config", str(config)) as service:
        service.wait_for(lambda: service.found("pdf"))
        assert pair.key not in service.api("GET", "/registry/sources").text
    config.write_text(f'{source}api_key = "{pair.key} with spaces"\n')
    failed = Done(tmp_path, "scan", "--config", str(config))
    failed.complains(2, "sources", "api_key")
    assert pair.key not in failed.error


def test_the_command_asks_for_the_key(pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    allowed = {"SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": "127.0.0.1"}
    assert Done(tmp_path, "scan").code == 0
    added = add_by_command(tmp_path, pair.key, "hub", pair.registry.url, "--json", **allowed)
    assert [(one["type"], one["error"]) for one in added.json["sources"]] == [("registry", None)]
    assert "hub/acme.pdf" in Done(tmp_path, "search", "pdf", **allowed).out
    through = add_by_command(tmp_path, pair.key, "cli", pair.registry.url, "--server", pair.service.url)
    assert (through.code, pair.source("cli")["error"]) == (0, None)
    refused = add_by_command(tmp_path, pair.key, "bad", f"{pair.registry.url}/absent", **allowed)
    refused.complains(1, "no registry")
    pair.service.api("DELETE", "/registry/sources/cli").raise_for_status()


def add_by_command(folder: Path, key: str, *args: str, **env: str) -> Done:
    """Add a source with a key, which the command must not print."""
    done = Done(folder, "sources", "add", *args, "--api-key", stdin=f"{key}\n", **env)
    assert key not in done.out + done.error
    return done
