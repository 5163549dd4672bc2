"""Tokens of users over HTTP: what they are for, on every way to change a skill, and the password of a user."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.clawhub import ClawHub
from support.credentials import code, get_token
from support.publishing import Registry, skill_package
from support.servers import bearer, new_skill
from support.waiting import wait_until

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("tokens")) as running:
        for name, role in (("acme/ann", "manager"), ("acme/bob", "manager"), ("acme/cid", "user"), ("root", "admin")):
            add_user(running, name, role)
        yield running


def add_user(registry: Registry, name: str, role: str = "manager") -> None:
    body = {"name": name, "password": PASSWORD, "role": role}
    assert registry.api("POST", "/auth/users", json=body, headers=bearer(registry.token("admin"))).status_code == 201


def sign_in(registry: Registry, name: str = "acme/ann", password: str = PASSWORD) -> dict[str, str]:
    answer = get_token(registry, username=name, password=password)
    assert answer.status_code == 200, answer.text
    return bearer(answer.json()["data"]["token"])


def make(registry: Registry, user: str = "acme/ann", **fields: Any) -> tuple[str, dict[str, str]]:
    """Return the id of a new token, and its header."""
    body = {"name": "ci", "operations": ["read", "publish", "yank"], **fields}
    answer = registry.api("POST", "/auth/tokens", json=body, headers=sign_in(registry, user))
    assert answer.status_code == 201, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    data = answer.json()["data"]
    return data["id"], bearer(data["token"])


def is_refused(answer: httpx.Response, text: str = "") -> bool:
    assert answer.status_code == 403, answer.text
    assert text in answer.text
    return True


def test_verify_tells_the_expiry_and_the_narrowing(registry: Registry) -> None:
    _, token = make(registry, skills=["acme/pdf-*"], operations=["publish"], expires_at="2026-12-24T00:00:00Z")
    said = registry.http.get("/auth/verify", headers=token).json()["data"]
    assert said == {
        "valid": True,
        "user": "acme/ann",
        "role": "manager",
        "scope": "acme",
        "expires_at": "2026-12-24T00:00:00.000Z",
        "operations": ["publish"],
        "skills": ["acme/pdf-*"],
    }


def test_a_token_that_only_reads_is_enough_for_metrics(registry: Registry) -> None:
    _, token = make(registry, operations=["read"])
    assert registry.http.get("/metrics", headers=token).is_success


@pytest.mark.parametrize("path", ["/auth/keys", "/auth/users", "/auth/tokens"])
def test_an_option_that_is_not_known_is_refused(registry: Registry, path: str) -> None:
    body = {"name": "acme/dan", "password": PASSWORD, "operations": ["read"], "expires_in": 60}
    if path == "/auth/keys":
        body = {"name": "ci", "expires_at": "2026-12-24T00:00:00Z"}
    headers = sign_in(registry, "root")
    answer = registry.api("POST", path, json=body, headers=headers)
    assert code(answer) == (400, "VALIDATION_ERROR")
    assert any(fault["field"].startswith("expires_") for fault in answer.json()["error"]["details"])
    assert code(get_token(registry, headers, role="user", expires_in=60)) == (400, "VALIDATION_ERROR")


def test_a_token_for_some_skills_publishes_no_other(registry: Registry) -> None:
    _, token = make(registry, skills=["acme/pdf-*"])
    assert registry.finished(registry.publish(skill_package("pdf-text"), token))["status"] == "accepted"
    other = skill_package("csv-text")
    message = "This token is for acme/pdf-* only: use one whose skills include 'acme/csv-text'"
    assert is_refused(registry.publish(other, token), message)
    files = {"package": ("package.zip", other, "application/zip")}
    assert is_refused(registry.api("POST", "/registry/publish/check", files=files, headers=token), message)
    text = b"---\nname: csv-text\ndescription: Reads tables.\nversion: 1.0.0\n---\n"
    parts = {"files": ("SKILL.md", text, "text/markdown")}
    assert is_refused(registry.http.post("/v1/skills", files=parts, headers=token), message)
    hub = ClawHub(registry, token["Authorization"].partition(" ")[2], "acme")
    assert is_refused(hub.publish_form("csv-text", {"SKILL.md": text}))
    for path in ("/api/v1/skills", "/api/skills", "/api/code/v1/skills", "/v1/skills"):
        assert is_refused(registry.http.post(path, json=new_skill("csv-text"), headers=token), message)
    line = registry.http.build_request("POST", "/", json=new_skill("csv-text")).content
    headers = {**token, "Content-Type": "application/x-ndjson"}
    batch = registry.api("POST", "/skills:batch", content=line, headers=headers).json()["data"]
    assert (batch["created"], batch["results"][0]["error"]["code"]) == (0, "FORBIDDEN")
    origin = {"origin": {"type": "git", "url": "https://example.org/skills.git"}}
    assert is_refused(registry.api("POST", "/skills", json=origin, headers=token), "sign in to install")


def test_a_token_for_some_skills_withdraws_no_other(registry: Registry) -> None:
    everything = sign_in(registry)
    for name in ("csv-one", "pdf-one"):
        assert registry.finished(registry.publish(skill_package(name), everything))["status"] == "accepted"
    assert registry.api("POST", "/skills", json=new_skill("csv-record"), headers=everything).status_code == 201
    _, token = make(registry, skills=["acme/pdf-*"])
    skill, version = "/registry/skills/acme/csv-one", "/registry/skills/acme/csv-one/1.0.0"
    posts = [f"{version}/yank", f"{version}/unyank", f"{skill}/deprecate", f"{skill}/undeprecate"]
    assert all(is_refused(registry.api("POST", path, headers=token), "only: use one") for path in posts)
    for path in ("/api/v1/skills/acme/csv-one", "/v1/skills/acme/csv-one/versions/1.0.0", "/api/v1/skills/csv-record"):
        assert is_refused(registry.http.delete(path, headers=token), "only: use one")
    assert is_refused(registry.api("PUT", "/skills/csv-record", json={"author": "x"}, headers=token))
    hub = "/clawhub/api/v1/skills/csv-one"
    assert is_refused(registry.http.request("DELETE", f"{hub}?ownerHandle=acme", headers=token))
    assert registry.api("POST", "/registry/skills/acme/pdf-one/1.0.0/yank", headers=token).status_code == 200
    root = make(registry, "root", skills=["acme/pdf-*"])[1]
    assert is_refused(registry.api("POST", f"{version}/revoke", headers=root), "only: use one")
    assert registry.api("GET", "/skills/acme/csv-one", headers=token).status_code == 200


def test_a_token_does_only_what_it_is_for(registry: Registry) -> None:
    _, reader = make(registry, operations=["read"])
    _, publisher = make(registry, operations=["publish"])
    assert registry.api("POST", "/search", json={"query": "pdf"}, headers=reader).status_code == 200
    assert is_refused(registry.publish(skill_package("pdf-two"), reader), "whose operations include 'publish'")
    assert is_refused(registry.api("POST", "/search", json={"query": "pdf"}, headers=publisher), "include 'read'")
    done = registry.publish(skill_package("pdf-two"), publisher)
    assert registry.finished(done)["status"] == "accepted"
    job = done.json()["data"]["job_id"]
    assert registry.api("GET", f"/registry/publish/{job}/status", headers=publisher).status_code == 200
    yank = "/registry/skills/acme/pdf-two/1.0.0/yank"
    assert is_refused(registry.api("POST", yank, headers=publisher), "include 'yank'")
    assert registry.api("POST", yank, headers=make(registry, operations=["yank"])[1]).status_code == 200


@pytest.mark.parametrize("name", ["acme/ann", "root"])
def test_no_token_administers_or_makes_another(registry: Registry, name: str) -> None:
    _, token = make(registry, name)
    for method, path in (
        *(("GET", "/auth/tokens"), ("POST", "/auth/tokens"), ("PUT", "/auth/me/password"), ("GET", "/auth/keys")),
        *(("POST", "/auth/users"), ("GET", "/audit"), ("POST", "/reindex"), ("POST", "/registry/reviews/1/approve")),
    ):
        body: dict[str, Any] = {"json": {}} if method in ("POST", "PUT") else {}
        assert is_refused(registry.api(method, path, headers=token, **body))
    assert is_refused(get_token(registry, token, role="user"), "send it as it is")


def test_users_list_and_revoke_their_own_tokens(registry: Registry) -> None:
    token_id, token = make(registry, "acme/bob", name="laptop")
    assert registry.api("GET", "/skills", headers=token).status_code == 200
    registry.wait_for(lambda: tokens_of(registry, "acme/bob")[0]["last_used_at"] is not None)
    (shown,) = tokens_of(registry, "acme/bob")
    assert (shown["id"], shown["name"], shown["skills"]) == (token_id, "laptop", [])
    assert "token" not in shown
    ann = sign_in(registry)
    assert registry.api("DELETE", f"/auth/tokens/{token_id}", headers=ann).status_code == 404
    assert is_refused(registry.api("GET", "/auth/tokens?user=acme/bob", headers=ann))
    root = sign_in(registry, "root")
    assert registry.api("GET", "/auth/tokens?user=acme/bob", headers=root).json()["data"] == [shown]
    assert registry.api("DELETE", f"/auth/tokens/{token_id}", headers=root).status_code == 200
    assert code(registry.api("GET", "/skills", headers=token)) == (401, "UNAUTHORIZED")
    assert tokens_of(registry, "acme/bob") == []


def tokens_of(registry: Registry, name: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = registry.api("GET", "/auth/tokens", headers=sign_in(registry, name)).json()["data"]
    return listed


def test_a_token_ends_itself(registry: Registry) -> None:
    _, token = make(registry, "acme/bob", operations=["publish"])
    assert registry.http.post("/auth/logout", headers=token).status_code == 200
    assert registry.http.get("/auth/verify", headers=token).json()["error"]["code"] == "INVALID_TOKEN"


def test_a_token_is_counted_and_audited_as_its_user(registry: Registry) -> None:
    token_id, token = make(registry)
    remaining = [
        int(registry.api("GET", "/skills", headers=headers).headers["RateLimit-Remaining"])
        for headers in (token, sign_in(registry), token)
    ]
    assert remaining == [remaining[0], remaining[0] - 1, remaining[0] - 2]
    assert registry.finished(registry.publish(skill_package("pdf-three"), token))["uploaded_by"] == "acme/ann"
    headers = bearer(registry.token("admin"))
    entries = registry.api("GET", f"/audit?target={token_id}", headers=headers).json()["data"]
    assert {(entry["actor"], entry["action"]) for entry in entries} == {
        ("acme/ann", "POST /api/v1/auth/tokens"),
        ("acme/ann", "POST /api/registry/publish"),
    }


def test_a_basic_password_may_be_a_token(registry: Registry) -> None:
    _, token = make(registry, operations=["read"])
    text = token["Authorization"].partition(" ")[2]
    assert registry.http.get("/feed.atom", auth=("x", text)).status_code == 200


def test_users_change_their_own_password(registry: Registry) -> None:
    add_user(registry, "acme/eve")
    _, token = make(registry, "acme/eve")
    old = sign_in(registry, "acme/eve")
    wrong = {"old_password": "something else", "new_password": "another good password"}
    assert code(registry.api("PUT", "/auth/me/password", json=wrong, headers=old)) == (403, "FORBIDDEN")
    given = {"old_password": PASSWORD, "new_password": "another good password"}
    short = registry.api("PUT", "/auth/me/password", json={**given, "new_password": "short"}, headers=old)
    assert code(short) == (400, "VALIDATION_ERROR")
    answer = registry.api("PUT", "/auth/me/password", json=given, headers=old)
    assert answer.status_code == 200, answer.text
    new = bearer(answer.json()["data"]["token"])
    assert code(registry.api("GET", "/skills", headers=old)) == (401, "UNAUTHORIZED")
    assert registry.api("GET", "/skills", headers=new).status_code == 200
    assert registry.api("GET", "/skills", headers=token).status_code == 200
    assert get_token(registry, username="acme/eve", password=PASSWORD).status_code == 401
    sign_in(registry, "acme/eve", "another good password")
    key = registry.api("POST", "/auth/keys", json={"name": "ci"}, headers=sign_in(registry, "root")).json()["data"]
    assert is_refused(registry.api("PUT", "/auth/me/password", json=given, headers={"x-api-key": key["key"]}))


def test_no_token_is_in_the_log_of_requests_or_the_audit_log(registry: Registry) -> None:
    _, token = make(registry)
    text = token["Authorization"].partition(" ")[2]
    assert registry.publish(skill_package("pdf-four"), token).status_code == 202
    audit = registry.api("GET", "/audit/export", headers=bearer(registry.token("admin")))
    assert text not in audit.text
    assert text.removeprefix("srt_") not in registry.log.read_text()


def test_the_log_says_who_has_downloaded_a_version_and_with_which_token(registry: Registry) -> None:
    registry.publish(skill_package("traced"), sign_in(registry))
    token_id, token = make(registry, operations=["read"])
    package, search = "/packages/acme/traced/1.0.0.zip", "/api/v1/search?q=traced"
    key = registry.api("POST", "/auth/keys", json={"name": "ci"}, headers=bearer(registry.token("admin"))).json()[
        "data"
    ]
    requests: list[tuple[str, dict[str, str], str]] = [
        (package, token, f" caller=acme/ann token={token_id}"),
        (package, sign_in(registry, "acme/cid"), " caller=acme/cid"),
        (package, {"x-api-key": key["key"]}, f" caller=key-{key['id']}"),
        (search, token, f" caller=acme/ann token={token_id}"),
        (search, token, f" caller=acme/ann token={token_id}"),  # from the cache of answers
        ("/api/v1/audit", sign_in(registry, "acme/cid"), " caller=acme/cid"),  # which is refused
        (package, {}, ""),
    ]
    for number, (path, headers, _) in enumerate(requests):
        registry.http.get(path, headers={"X-Request-ID": f"traced-{number}", **headers})
    wait_until(lambda: registry.log.read_text().count("request_id=traced-") == len(requests))
    lines = {line for line in registry.log.read_text().splitlines() if "request_id=traced-" in line}
    said = {re.sub(r".*request_id=(\S+) .*client=127.0.0.1", r"\1", line) for line in lines}
    assert said == {f"traced-{number}{caller}" for number, (_, _, caller) in enumerate(requests)}
    assert token["Authorization"].removeprefix("Bearer ") not in registry.log.read_text()
