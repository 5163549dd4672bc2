"""Private scopes: a registry of its own for its members, and nothing for anybody else."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.publishing import Registry, skill_package
from support.servers import RunningServer
from support.waiting import wait_until

ADMIN = ("root", "admin")
WORDS = "zorblax quintuple marmoset"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("scopes")) as registry:
        made = registry.http.post(
            "/api/v1/private-scopes", json={"scope": "acme", "owner": "una"}, headers=registry.caller(*ADMIN)
        )
        assert made.status_code == 201, made.text
        assert made.json()["data"]["path"] == "/scopes/acme"
        for user, role in (("bob/bob", "reader"), ("pia", "publisher")):
            answer = registry.http.put(
                f"/api/v1/private-scopes/acme/members/{user}",
                json={"role": role},
                headers=registry.caller("una", "user"),
            )
            assert answer.status_code == 200, answer.text
        yield registry


def publish(registry: Registry, package: bytes, caller: dict[str, str]) -> dict[str, object]:
    """Publish within the private scope, and return the job once it has ended."""
    files = {"package": ("package.zip", package, "application/zip")}
    answer = registry.http.post("/scopes/acme/api/registry/publish", files=files, headers=caller)
    assert answer.status_code == 202, answer.text
    path = f"/scopes/acme/api/registry/publish/{answer.json()['data']['job_id']}/status"
    job: dict[str, object] = {}

    def has_ended() -> bool:
        job.update(registry.http.get(path, headers=caller).json()["data"])
        return bool(job["completed_at"] and job["index_synced"])

    wait_until(has_ended)
    return job


def logged_caller(registry: Registry, request_id: str) -> str:
    """Return who has sent a request, as the log says it."""
    wait_until(lambda: f"request_id={request_id} " in registry.log.read_text())
    (line,) = [line for line in registry.log.read_text().splitlines() if f"request_id={request_id} " in line]
    return line.partition(" caller=")[2]


def test_members_publish_find_and_download_what_nobody_else_sees(registry: Registry) -> None:
    publisher, reader = registry.caller("pia", "user"), registry.caller("bob/bob", "user")
    package = skill_package("marmoset", body=f"# {WORDS}\n")
    job = publish(registry, package, publisher)
    assert (job["status"], job["skill_id"]) == ("accepted", "acme/marmoset")
    for path, body in (("/api/v1/skills/acme/marmoset", None), ("/api/v1/search", {"query": WORDS})):
        inside = registry.http.request("POST" if body else "GET", f"/scopes/acme{path}", json=body, headers=reader)
        assert inside.status_code == 200, inside.text
        assert "acme/marmoset" in inside.text
        assert logged_caller(registry, inside.headers["X-Request-ID"]) == "bob/bob"
        outside = registry.http.request("POST" if body else "GET", path, json=body, headers=reader)
        assert "acme/marmoset" not in outside.text.replace("'acme/marmoset'", "")
    download = str(job["download_url"])
    assert registry.http.get(download, headers=reader).content == package
    assert registry.http.get(download, headers=registry.caller("eve/eve", "user")).status_code == 404
    assert registry.http.get(download).status_code == 401


def test_who_is_no_member_gets_what_a_scope_that_is_not_there_gives(registry: Registry) -> None:
    for who in ({}, registry.caller("eve/eve", "manager"), registry.caller(*ADMIN), {"Authorization": "Bearer x"}):
        for path in ("/api/v1/skills", "/index/acme/x", "/metrics", "/mcp", "/nothing"):
            there, not_there = (registry.http.get(f"/scopes/{name}{path}", headers=who) for name in ("acme", "acmf"))
            assert (there.status_code, there.text) == (not_there.status_code, not_there.text)
            assert there.status_code == (404 if who.get("Authorization", "").startswith("Bearer ey") else 401)
    members = registry.http.get("/api/v1/private-scopes/acme/members", headers=registry.caller("eve/eve", "manager"))
    other = registry.http.get("/api/v1/private-scopes/acmf/members", headers=registry.caller("eve/eve", "manager"))
    assert (members.status_code, members.text) == (other.status_code, other.text) == (404, other.text)


def test_refusals_of_mcp_below_a_scope_are_errors_of_json_rpc(registry: Registry) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for who, status, code in (({}, 401, "UNAUTHORIZED"), (registry.caller("eve/eve", "manager"), 404, "NOT_FOUND")):
        for name in ("acme", "acmf"):
            answer = registry.http.post(f"/scopes/{name}/mcp", json=message, headers=who)
            assert (answer.status_code, answer.json()["error"]["data"]) == (status, {"code": code})


def test_roles_count_within_the_scope_only(registry: Registry) -> None:
    reader, publisher = registry.caller("bob/bob", "manager"), registry.caller("pia", "user")
    files = {"package": ("package.zip", skill_package("read-only"), "application/zip")}
    assert registry.http.post("/scopes/acme/api/registry/publish", files=files, headers=reader).status_code == 403
    assert registry.http.get("/scopes/acme/api/v1/audit", headers=publisher).status_code == 403
    assert registry.http.get("/scopes/acme/api/v1/audit", headers=registry.caller("una", "user")).status_code == 200
    for path in ("/auth/keys", "//api/v1/auth/keys", "/api/v1//auth/users", "/api/v1/auth/users/", "/auth/users"):
        answer = registry.http.get(f"/scopes/acme{path}", headers=registry.caller("una", "user"))
        assert answer.status_code in (403, 404), (path, answer.text)


def test_a_key_of_the_scope_is_a_member_but_no_owner(registry: Registry) -> None:
    for role, statuses in (("user", (200, 403)), ("manager", (200, 403)), ("admin", (200, 403))):
        body = {"name": "ci", "role": role, "scope": "acme"}
        made = registry.http.post("/api/v1/auth/keys", json=body, headers=registry.caller(*ADMIN))
        key = {"x-api-key": made.json()["data"]["key"]}
        got = [registry.http.get(f"/scopes/acme{path}", headers=key).status_code
               for path in ("/api/v1/skills", "/api/v1/audit")]  # fmt: skip
        assert tuple(got) == statuses


def test_publishing_to_a_private_scope_from_outside_is_refused(registry: Registry) -> None:
    answer = registry.publish(skill_package("slip"), registry.caller("acme/ann"))
    assert answer.status_code == 403
    assert "/scopes/acme" in answer.json()["error"]["message"]


def test_a_scope_with_published_skills_cannot_become_private(registry: Registry) -> None:
    registry.finished(registry.publish(skill_package("open"), registry.caller("open/ann")))
    body = {"scope": "open", "owner": "una"}
    answer = registry.http.post("/api/v1/private-scopes", json=body, headers=registry.caller(*ADMIN))
    assert answer.status_code == 409
    again = registry.http.post(
        "/api/v1/private-scopes", json={"scope": "acme", "owner": "una"}, headers=registry.caller(*ADMIN)
    )
    assert again.status_code == 409


def test_the_last_owner_stays(registry: Registry) -> None:
    owner = registry.caller("una", "user")
    assert registry.http.delete("/api/v1/private-scopes/acme/members/una", headers=owner).status_code == 409
    change = registry.http.put("/api/v1/private-scopes/acme/members/una", json={"role": "reader"}, headers=owner)
    assert change.status_code == 409
    for caller in ("pia", "bob/bob"):
        answer = registry.http.put(
            f"/api/v1/private-scopes/acme/members/{caller}", json={"role": "owner"},
            headers=registry.caller(caller, "user"),
        )  # fmt: skip
        assert answer.status_code == 404


def test_who_leaves_sees_nothing_from_then_on(registry: Registry) -> None:
    owner, tim = registry.caller("una", "user"), registry.caller("tim", "user")
    path = "/api/v1/private-scopes/acme/members/tim"
    assert registry.http.put(path, json={"role": "reader"}, headers=owner).status_code == 200
    assert registry.http.get("/scopes/acme/api/v1/skills", headers=tim).status_code == 200
    assert registry.http.delete(path, headers=tim).status_code == 200
    assert registry.http.get("/scopes/acme/api/v1/skills", headers=tim).status_code == 404


def test_git_clones_the_scope_with_a_token_as_password(registry: Registry, tmp_path: Path) -> None:
    publish(registry, skill_package("cloned"), registry.caller("pia", "user"))
    token = registry.caller("bob/bob", "user")["Authorization"].removeprefix("Bearer ")
    url = registry.url.replace("http://", f"http://x:{token}@")
    env = {"GIT_TERMINAL_PROMPT": "0", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    path = registry.http.get("/scopes/acme/api/v1/skills/acme/cloned", headers=registry.caller("pia", "user")).json()
    assert path["success"]
    clone = ["git", "clone", "--quiet", f"{url}/scopes/acme/git/acme/cloned.git", str(tmp_path / "clone")]
    subprocess.run(clone, check=True, env=env)
    assert (tmp_path / "clone" / "SKILL.md").exists()
    refused = subprocess.run(
        ["git", "clone", f"{registry.url}/scopes/acme/git/acme/cloned.git", str(tmp_path / "none")],
        env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert refused.returncode != 0
    assert "terminal prompts disabled" in refused.stderr  # git asks for a credential


def test_what_a_scope_has_survives_a_restart_and_a_closing(tmp_path: Path) -> None:
    body = {"scope": "acme", "owner": "una"}
    with Registry(tmp_path) as registry:
        admin = registry.caller(*ADMIN)
        registry.http.post("/api/v1/private-scopes", json=body, headers=admin).raise_for_status()
        job = publish(registry, skill_package("kept"), registry.caller("una", "user"))
        assert job["status"] == "accepted"
    with Registry(tmp_path) as registry:
        una = registry.caller("una", "user")
        assert registry.http.get("/scopes/acme/api/v1/skills/acme/kept", headers=una).status_code == 200
        closed = registry.http.delete("/api/v1/private-scopes/acme", headers=registry.caller(*ADMIN))
        assert closed.status_code == 200
        assert registry.http.get("/scopes/acme/api/v1/skills/acme/kept", headers=una).status_code == 404
        registry.http.post("/api/v1/private-scopes", json=body, headers=registry.caller(*ADMIN)).raise_for_status()
        assert registry.http.get("/scopes/acme/api/v1/skills/acme/kept", headers=una).status_code == 200
        assert (registry.data_dir / "scopes").stat().st_mode & 0o077 == 0


def test_another_service_follows_a_scope_with_a_key_of_it(registry: Registry, tmp_path: Path) -> None:
    publish(registry, skill_package("followed"), registry.caller("pia", "user"))
    body = {"name": "follower", "role": "user", "scope": "acme"}
    made = registry.http.post("/api/v1/auth/keys", json=body, headers=registry.caller(*ADMIN))
    key, address = made.json()["data"]["key"], registry.url.removeprefix("http://")
    with RunningServer(tmp_path, "--outbound-allowed-host", address) as service:
        source = {"name": "acme", "type": "registry", "url": f"{registry.url}/scopes/acme"}
        assert service.api("POST", "/registry/sources", json={**source, "api_key": key}).status_code == 201
        service.wait_for(lambda: "followed" in service.api("GET", "/registry/sources/acme/skills").text)
        installed = service.api("POST", "/skills", json={"origin": "acme/followed"})
        assert installed.status_code == 201, installed.text


def test_a_member_makes_a_token_for_a_program_that_publishes_to_the_scope_only(registry: Registry) -> None:
    admin, password = registry.caller(*ADMIN), "a long passphrase"
    body = {"name": "vic", "password": password}
    registry.http.post("/api/v1/auth/users", json=body, headers=admin).raise_for_status()
    member = "/api/v1/private-scopes/acme/members/vic"
    token = registry.http.post("/auth/token", json={"username": "vic", "password": password}).json()["data"]["token"]
    vic = {"Authorization": f"Bearer {token}"}
    wanted = {"name": "ci", "operations": ["read", "publish"], "skills": ["acme/pdf-*"]}
    for role, status in (("reader", 403), ("publisher", 201)):
        registry.http.put(member, json={"role": role}, headers=admin).raise_for_status()
        made = registry.http.post("/api/v1/auth/tokens", json=wanted, headers=vic)
        assert made.status_code == status, made.text
    program = {"Authorization": f"Bearer {made.json()['data']['token']}"}
    statuses = {}
    for name in ("pdf-fill", "csv"):
        files = {"package": ("package.zip", skill_package(name), "application/zip")}
        for place in ("", "/scopes/acme"):
            answer = registry.http.post(f"{place}/api/registry/publish", files=files, headers=program)
            statuses[name, place] = answer.status_code
    assert statuses == {
        ("pdf-fill", ""): 403, ("csv", ""): 403, ("pdf-fill", "/scopes/acme"): 202, ("csv", "/scopes/acme"): 403,
    }  # fmt: skip
