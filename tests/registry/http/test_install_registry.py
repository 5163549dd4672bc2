"""Installing in the registry profile: who may, from where, and what it leaves alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.git_server import GitServer
from support.servers import RunningServer, new_skill, write_skill

SKILL = "---\nname: pdf\ndescription: Fill in pdf forms.\n---\n"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    with GitServer(tmp_path_factory.mktemp("hub")) as server:
        server.repository("skills").commit({"pdf/SKILL.md": SKILL})
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, hub: GitServer) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("registry")
    args = ("--profile", "registry", "--outbound-allowed-host", hub.host)
    with RunningServer(folder, *args, "--install-allowed-root", str(folder / "allowed")) as running:
        yield running


def post(server: RunningServer, role: str, path: str, body: dict[str, Any]) -> httpx.Response:
    token = server.http.post("/auth/token", json={"role": role}).json()["data"]["token"]
    return server.http.post(path, json=body, headers={"Authorization": f"Bearer {token}"})


def test_a_manager_installs_and_a_user_does_not(server: RunningServer, hub: GitServer) -> None:
    origin = {"type": "git", "url": hub.url("skills"), "subdir": "pdf"}
    assert server.api("POST", "/skills", json={"origin": origin}).status_code == 401
    assert post(server, "user", "/api/v1/skills", {"origin": origin}).status_code == 403
    answer = post(server, "manager", "/api/skills", {"origin": origin})
    assert (answer.status_code, answer.headers["Location"]) == (201, "/api/skills/pdf")
    assert answer.json()["data"]["installed"] is True
    for role, status in (("user", 403), ("manager", 200)):
        assert post(server, role, "/api/v1/skills/upgrade", {}).status_code == status
    assert not server.manifest.exists()


def test_a_source_url_is_where_a_record_is_from(server: RunningServer) -> None:
    body = new_skill("recorded", source_url="https://example.org/a.git", source_type="git")
    answer = post(server, "manager", "/api/v1/skills", body)
    assert (answer.status_code, answer.json()["data"]["installed"]) == (201, False)
    bare = {"source_url": "https://example.org/a.git", "source_type": "git"}
    faults = post(server, "manager", "/api/v1/skills", bare).json()["error"]["details"]
    assert {fault["field"] for fault in faults} == {"id", "name", "description", "version"}


def test_folders_are_installed_only_from_below_what_is_allowed(server: RunningServer, tmp_path: Path) -> None:
    allowed = server.data_dir.parent / "allowed"
    inside, outside = write_skill(allowed, "inside", "Below."), write_skill(tmp_path, "outside", "Elsewhere.")
    (allowed / "link").symlink_to(outside)
    for path in (outside, allowed / "link", allowed / "../data", Path("/etc")):
        answer = post(server, "manager", "/api/v1/skills", {"origin": {"type": "local", "path": str(path)}})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN"), path
    assert post(server, "manager", "/api/v1/skills", {"origin": str(inside)}).status_code == 201
    linked = {"type": "local", "path": str(inside), "editable": True}
    assert post(server, "manager", "/api/v1/skills", {"origin": linked}).status_code == 403
