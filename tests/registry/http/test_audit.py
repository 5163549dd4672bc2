"""The audit log: every change, who made it, and nothing else."""

import json
from typing import Any

import pytest

from support.code_v1 import Code
from support.raw_http import Connection, request
from support.servers import RunningServer, bearer, new_skill

ENTRY = {"at", "request_id", "actor", "role", "client", "action", "target", "detail"}


@pytest.fixture
def admin(registry: RunningServer) -> dict[str, str]:
    return bearer(registry.token("admin"))


def log(server: RunningServer, admin: dict[str, str], limit: int = 100) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = server.api("GET", "/audit", params={"limit": limit}, headers=admin).json()["data"]
    return entries


def count(server: RunningServer, admin: dict[str, str]) -> int:
    return int(server.api("GET", "/audit", headers=admin).json()["pagination"]["total"])


def entry_of(server: RunningServer, admin: dict[str, str], method: str, path: str, **options: Any) -> dict[str, Any]:
    """Make a change, and return what was written down of it."""
    headers = admin | {"X-Request-ID": f"change-{count(server, admin)}"}
    before = count(server, admin)
    answer = server.http.request(method, path, headers=headers, **options)
    assert answer.is_success, answer.text
    assert count(server, admin) == before + 1
    entry = log(server, admin, 1)[0]
    assert (set(entry), entry["request_id"]) == (ENTRY, headers["X-Request-ID"])
    assert (entry["actor"], entry["role"], entry["client"]) == ("dev-user", "admin", "127.0.0.1")
    return entry


def test_the_life_of_a_skill_is_written_down(registry: RunningServer, admin: dict[str, str]) -> None:
    skills, one = "/api/code/v1/skills", "/api/code/v1/skills/audited-one"
    changes: list[tuple[str, str, Any]] = [
        ("POST", skills, new_skill("audited-one")),
        ("PUT", one, {"enabled": False}),
        ("POST", f"{one}/versions", {"version": "2.0.0"}),
        ("DELETE", f"{one}/versions/1.0.0", None),
        ("DELETE", one, None),
    ]
    for method, path, body in changes:
        entry = entry_of(registry, admin, method, path, json=body)
        assert entry["action"].startswith(f"{method} /api/code/v1/skills")
        assert (entry["target"], "audited-one" in entry["target"] + entry["detail"]) == (path, True)


@pytest.mark.parametrize("prefix", ["/api", "/api/v1", "/v1"])
def test_every_prefix_is_written_down(registry: RunningServer, admin: dict[str, str], prefix: str) -> None:
    skill_id = f"audited{prefix.replace('/', '-')}"
    entry = entry_of(registry, admin, "POST", f"{prefix}/skills", json=new_skill(skill_id))
    assert (entry["action"], entry["detail"]) == (f"POST {prefix}/skills", skill_id)
    assert entry_of(registry, admin, "DELETE", f"{prefix}/skills/{skill_id}")["detail"] == skill_id


def test_keys_and_users_are_written_down_without_their_secrets(registry: RunningServer, admin: dict[str, str]) -> None:
    made = registry.api("POST", "/auth/keys", json={"name": "ci"}, headers=admin).json()["data"]
    assert log(registry, admin, 1)[0]["detail"] == f"key-{made['id']}: user"
    revoked = entry_of(registry, admin, "DELETE", f"/api/v1/auth/keys/{made['id']}")
    assert made["id"] in revoked["detail"]
    user = {"name": "acme/eve", "password": "a canary password"}
    for method, path, body, detail in (
        ("POST", "", user, "acme/eve, user of acme"),
        ("PUT", "/acme/eve", {"role": "manager"}, "acme/eve, manager of acme"),
        ("DELETE", "/acme/eve", None, "acme/eve"),
    ):
        assert entry_of(registry, admin, method, f"/api/v1/auth/users{path}", json=body)["detail"] == detail
    assert not any(secret in json.dumps(log(registry, admin)) for secret in (made["key"], "canary"))


def test_the_end_of_a_token_is_written_down(registry: RunningServer, admin: dict[str, str]) -> None:
    before = count(registry, admin)
    registry.http.post("/auth/logout", headers=bearer(registry.token("user", "acme/leaver")))
    entry = log(registry, admin, 1)[0]
    assert count(registry, admin) == before + 1
    assert (entry["action"], entry["actor"]) == ("POST /auth/logout", "acme/leaver")


def test_a_key_is_named_as_who_did_it(registry: RunningServer, admin: dict[str, str]) -> None:
    made = registry.api("POST", "/auth/keys", json={"name": "ci", "role": "manager"}, headers=admin).json()["data"]
    registry.api("POST", "/skills", json=new_skill("made-by-key"), headers={"x-api-key": made["key"]})
    entry = log(registry, admin, 1)[0]
    assert (entry["actor"], entry["role"], entry["detail"]) == (f"key-{made['id']}", "manager", "made-by-key")


def test_tokens_that_change_things_are_written_down_and_others_not(
    registry: RunningServer, admin: dict[str, str]
) -> None:
    before = count(registry, admin)
    registry.token("user")
    assert count(registry, admin) == before
    registry.token("manager", "acme/bot")
    entry = log(registry, admin, 1)[0]
    assert (entry["action"], entry["actor"]) == ("issue token", "acme/bot")
    assert "manager token" in entry["detail"]


def test_what_reads_or_is_refused_is_not_written_down(registry: RunningServer, admin: dict[str, str]) -> None:
    code = Code(registry)
    code.create("quiet-one")
    user, before = bearer(registry.token("user")), count(registry, admin)
    for path in ("/skills", "/skills/quiet-one", "/skills/quiet-one/versions"):
        code.ask("GET", path)
    registry.api("POST", "/search", json={"query": "quiet"}, headers=user)
    registry.api("POST", "/resolve", json={"prompt": "quiet"}, headers=user)
    refusals = [
        registry.api("POST", "/skills", json=new_skill("refused-one"), headers=user),
        registry.api("POST", "/skills", json=new_skill("refused-one")),
        code.ask("POST", "/skills", json=new_skill("quiet-one")),
        code.ask("POST", "/skills", json={}),
        code.ask("DELETE", "/skills/absent-one"),
        code.ask("DELETE", "/skills/quiet-one/versions/1.0.0"),
        code.ask("PUT", "/skills/quiet-one", json={"author": "x"}, headers={"If-Match": '"stale"'}),
    ]
    assert [answer.status_code for answer in refusals] == [403, 401, 409, 400, 404, 409, 412]
    assert count(registry, admin) == before


def test_a_refused_change_is_never_written_down_by_the_next_request(
    registry: RunningServer, admin: dict[str, str]
) -> None:
    registry.api("POST", "/skills", json=new_skill("taken-one"), headers=admin)
    before = count(registry, admin)
    refused = request("POST", "/api/v1/skills", f"Authorization: {admin['Authorization']}",
                      body=json.dumps(new_skill("taken-one")).encode(), content_type="application/json")  # fmt: skip
    token = request("POST", "/auth/token", body=b'{"role": "manager"}', content_type="application/json")
    with Connection(registry.http.base_url.port or 0) as connection:
        connection.send(refused + token)
        assert [connection.answer().status, connection.answer().status] == [409, 200]
    assert (count(registry, admin), log(registry, admin, 1)[0]["action"]) == (before + 1, "issue token")


def test_the_log_is_for_administrators_newest_first_and_paged(registry: RunningServer, admin: dict[str, str]) -> None:
    assert registry.api("GET", "/audit", headers=bearer(registry.token("manager"))).status_code == 403
    moments = [entry["at"] for entry in log(registry, admin)]
    assert moments == sorted(moments, reverse=True)
    page = registry.api("GET", "/audit", params={"limit": 1, "offset": 1}, headers=admin).json()
    assert (len(page["data"]), page["pagination"]["offset"]) == (1, 1)


def test_a_hostile_path_is_one_entry_of_text(registry: RunningServer, admin: dict[str, str]) -> None:
    before = count(registry, admin)
    registry.api("DELETE", "/skills/%0d%0aforged%1b[2J", headers=admin)
    registry.api("PUT", "/auth/users/'; drop table audit; --", json={"role": "user"}, headers=admin)
    assert count(registry, admin) == before


def test_the_log_is_filtered_by_actor_action_target_and_time(registry: RunningServer, admin: dict[str, str]) -> None:
    ann, bob = (bearer(registry.token("manager", name)) for name in ("filters/ann", "filters/bob"))
    registry.api("POST", "/skills", json=new_skill("filtered-one"), headers=ann)
    registry.api("POST", "/skills", json=new_skill("filtered-two"), headers=bob)
    registry.api("DELETE", "/skills/filtered-one", headers=ann)

    def details(**query: str) -> list[str]:
        answer = registry.api("GET", "/audit", params=query, headers=admin)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert found["pagination"]["total"] == len(found["data"])
        return [entry["detail"] for entry in found["data"] if entry["detail"].startswith("filtered")]

    assert details(actor="filters/ann", action="/skills") == ["filtered-one", "filtered-one"]
    assert details(actor="filters/ann", action="DELETE") == ["filtered-one"]
    assert details(actor="filters/an") == []
    assert details(target="filtered-two") == ["filtered-two"]
    assert details(target="tered-t%") == []
    entry = registry.api("GET", "/audit", params={"target": "filtered-two"}, headers=admin).json()["data"][0]
    assert details(target="filtered-two", since=entry["at"]) == ["filtered-two"]
    assert details(target="filtered-two", until=entry["at"]) == []
    assert details(target="filtered-two", since="2026-01-01", until="2126-01-01T00:00:00+01:00") == ["filtered-two"]
    for query in ({"since": "yesterday"}, {"until": "2026-13-01"}):
        refused = registry.api("GET", "/audit", params=query, headers=admin)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


def test_the_log_is_exported_as_lines_the_oldest_first(registry: RunningServer, admin: dict[str, str]) -> None:
    for number in range(3):
        registry.api("POST", "/skills", json=new_skill(f"exported-{number}"), headers=admin)
    answer = registry.api("GET", "/audit/export", params={"target": "exported-"}, headers=admin)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["detail"] for line in lines] == [f"exported-{number}" for number in range(3)]
    assert set(lines[0]) == ENTRY
    manager = bearer(registry.token("manager"))
    assert registry.api("GET", "/audit/export", headers=manager).status_code == 403
