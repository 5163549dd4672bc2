"""Trusted publishing: the identity token of a workflow gets a token of the registry, and sixteen wrong ones do not."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from support.commands import Done
from support.credentials import code
from support.identity_issuer import IdentityIssuer
from support.publishing import Registry, skill_package
from support.servers import bearer
from support.web_server import reply

CLAIMS = {
    "repository": "acme/skills",
    "repository_owner_id": "1234",
    "job_workflow_ref": "acme/skills/.github/workflows/publish.yml",
    "environment": "release",
}


@pytest.fixture(scope="module")
def issuer() -> Iterator[IdentityIssuer]:
    with IdentityIssuer() as running:
        yield running


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, issuer: IdentityIssuer) -> Iterator[Registry]:
    folder = tmp_path_factory.mktemp("trusted")
    allowed = ("--outbound-allowed-host", issuer.server.host)
    with Registry(folder, *allowed) as running:
        register(running, issuer, scope="acme", skills=["acme/pdf-*"])
        yield running


def admin(registry: Registry) -> dict[str, str]:
    return bearer(registry.token("admin"))


def register(registry: Registry, issuer: IdentityIssuer, **fields: Any) -> str:
    body = {"name": "skills", "issuer": issuer.url, "claims": CLAIMS, **fields}
    answer = registry.api("POST", "/auth/publishers", json=body, headers=admin(registry))
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["data"]["id"]
    return made


def exchange(registry: Registry, token: str, **more: str) -> httpx.Response:
    return registry.http.post("/auth/oidc/token", json={"token": token, **more})


def publisher(registry: Registry, issuer: IdentityIssuer, **more: str) -> dict[str, str]:
    answer = exchange(registry, issuer.token(), **more)
    assert answer.status_code == 200, answer.text
    return bearer(answer.json()["data"]["token"])


def test_the_right_token_publishes_for_fifteen_minutes(registry: Registry, issuer: IdentityIssuer) -> None:
    assert registry.http.get("/auth/oidc/audience").json()["data"] == {"audience": "skill-registry"}
    answer = exchange(registry, issuer.token())
    assert answer.headers["Cache-Control"] == "no-store"
    data = answer.json()["data"]
    assert (data["role"], data["scope"], data["skills"], data["expires_in"]) == ("manager", "acme", ["acme/pdf-*"], 900)
    token = bearer(data["token"])
    said = registry.http.get("/auth/verify", headers=token).json()["data"]
    assert (said["user"], said["scope"], said["operations"]) == (None, "acme", ["publish"])
    assert registry.finished(registry.publish(skill_package("pdf-text"), token))["status"] == "accepted"
    assert registry.publish(skill_package("csv-text"), token).status_code == 403
    assert registry.api("POST", "/registry/skills/acme/pdf-text/1.0.0/yank", headers=token).status_code == 403
    assert registry.api("POST", "/auth/token", headers=token).status_code == 404
    assert registry.http.post("/auth/token", json={"role": "user"}, headers=token).status_code == 403


HOUR = 3600
WRONG: dict[str, Callable[[IdentityIssuer], str]] = {
    "audience": lambda issuer: issuer.token(aud="pypi"),
    "issuer": lambda issuer: issuer.token(iss="https://token.example.org"),
    "repository": lambda issuer: issuer.token(repository="acme/skills2"),
    "owner id": lambda issuer: issuer.token(repository_owner_id="12345"),
    "workflow": lambda issuer: issuer.token(job_workflow_ref="acme/skills/.github/workflows/test.yml@refs/heads/main"),
    "environment": lambda issuer: issuer.token(environment=None),
    "expired": lambda issuer: issuer.token(iat=1, nbf=1, exp=int(time.time()) - 1),
    "future": lambda issuer: issuer.token(nbf=int(time.time()) + 120),
    "event": lambda issuer: issuer.token(event_name="pull_request_target"),
    "another event": lambda issuer: issuer.token(event_name="workflow_run"),
    "forged": lambda issuer: issuer.forged(),
    "HS256": lambda issuer: issuer.shared(),
    "long-lived": lambda issuer: issuer.token(exp=int(time.time()) + 2 * HOUR),
    "list claim": lambda issuer: issuer.token(repository=["acme/skills"]),
    "list audience": lambda issuer: issuer.token(aud=["skill-registry"]),
    "garbage": lambda issuer: "a.b.c",
    "no id": lambda issuer: issuer.token(jti=None),
    "no expiry": lambda issuer: issuer.token(exp=None),
    "no signature": lambda issuer: jwt.encode(issuer.claims(), "", "none", headers={"kid": issuer.key_id}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_token_is_refused(registry: Registry, issuer: IdentityIssuer, name: str) -> None:
    publisher(registry, issuer, scope="acme")  # this one would do, and failures before it are forgotten
    answer = exchange(registry, WRONG[name](issuer))
    assert code(answer) == (401, "UNAUTHORIZED"), answer.text
    assert answer.json()["error"]["message"].startswith("The identity token is refused: ")


def test_a_token_is_exchanged_once(registry: Registry, issuer: IdentityIssuer) -> None:
    token = issuer.token()
    assert exchange(registry, token, scope="acme").status_code == 200
    assert code(exchange(registry, token)) == (401, "UNAUTHORIZED")
    assert "used before" in exchange(registry, token).text


def test_keys_rotate_and_an_unknown_key_is_refused(registry: Registry, issuer: IdentityIssuer) -> None:
    old = issuer.key_id
    publisher(registry, issuer, scope="acme")
    issuer.keys["nowhere"] = issuer.keys[old]
    time.sleep(10)  # the keys are read anew at most every 10 s
    assert code(exchange(registry, issuer.token("nowhere"))) == (401, "UNAUTHORIZED")
    issuer.rotate()
    time.sleep(10)
    publisher(registry, issuer, scope="acme")
    assert code(exchange(registry, issuer.token(old))) == (401, "UNAUTHORIZED")


def test_an_issuer_that_is_down_is_503(tmp_path: Path) -> None:
    with IdentityIssuer() as issuer:
        token = issuer.token()
        with Registry(tmp_path, "--outbound-allowed-host", issuer.server.host) as registry:
            register(registry, issuer, scope="acme")
            answers = dict(issuer.server.answers)
            issuer.server.answers.clear()
            answer = exchange(registry, token)
            assert code(answer) == (503, "SERVICE_UNAVAILABLE")
            assert int(answer.headers["Retry-After"]) > 0
            issuer.server.answers.update(answers)
            assert exchange(registry, token).status_code == 200


def test_an_issuer_that_is_not_registered_is_not_asked(registry: Registry) -> None:
    with IdentityIssuer() as other:
        assert code(exchange(registry, other.token())) == (401, "UNAUTHORIZED")
        assert other.server.connections == 0


def test_the_log_says_which_workflow_has_published(registry: Registry, issuer: IdentityIssuer, tmp_path: Path) -> None:
    token = publisher(registry, issuer, scope="acme")
    assert registry.finished(registry.publish(skill_package("pdf-log"), token))["status"] == "accepted"
    reader = registry.caller()
    run = {
        "issuer": issuer.url,
        "repository": "acme/skills",
        "workflow_ref": "acme/skills/.github/workflows/publish.yml@refs/heads/main",
        "ref": "refs/heads/main",
        "sha": "c0ffee" * 6 + "cafe",
        "run_id": "987654",
    }
    proof = registry.api("GET", "/log/proof/acme/pdf-log/1.0.0", headers=reader).json()["data"]
    assert json.loads(proof["entry"])["publisher"] == run
    assert registry.api("GET", "/skills/acme/pdf-log", headers=reader).json()["data"]["publisher"] == run
    one = registry.api("GET", "/skills/acme/pdf-log/versions/1.0.0", headers=reader).json()["data"]
    assert one["publisher"] == run
    assert registry.finished(registry.publish(skill_package("by-hand"), reader))["status"] == "accepted"
    assert "publisher" not in registry.api("GET", "/skills/acme/by-hand", headers=reader).json()["data"]

    assert Done(tmp_path, "login", "--server", registry.url, "--username", "acme/ann").code == 0
    assert Done(tmp_path, "install", "acme/pdf-log").code == 0
    assert Done(tmp_path, "lock").code == 0
    checked = Done(tmp_path, "verify", "--log", "--json").json["log"]
    assert (checked["proven"], checked["faults"]) == (1, [])
    assert checked["publishers"] == {"pdf-log": run}
    assert "published by acme/skills/.github/workflows/publish.yml" in Done(tmp_path, "verify", "--log").out
    lock = tmp_path / "skills.lock"
    lock.write_text(lock.read_text().replace("987654", "987655"))
    assert "not in the signed log" in Done(tmp_path, "verify", "--log").out


def test_a_scope_can_be_for_trusted_publishers_only(registry: Registry, issuer: IdentityIssuer) -> None:
    register(registry, issuer, scope="corp")
    both = exchange(registry, issuer.token())
    assert code(both) == (400, "VALIDATION_ERROR")
    assert "acme, corp" in both.text
    path = "/auth/trusted-scopes/corp"
    assert registry.api("PUT", path, json={"trusted_only": True}, headers=admin(registry)).status_code == 200
    refused = registry.publish(skill_package("tables"), registry.caller("corp/ann"))
    assert code(refused) == (403, "FORBIDDEN")
    assert "trusted publishers" in refused.text
    token = publisher(registry, issuer, scope="corp")
    assert registry.finished(registry.publish(skill_package("tables"), token))["status"] == "accepted"
    assert registry.api("PUT", path, json={"trusted_only": False}, headers=admin(registry)).status_code == 200
    done = registry.publish(skill_package("tables", "1.1.0"), registry.caller("corp/ann"))
    assert registry.finished(done)["status"] == "accepted"


def test_a_publisher_that_is_removed_publishes_no_more(registry: Registry, issuer: IdentityIssuer) -> None:
    made = register(registry, issuer, scope="team")
    token = publisher(registry, issuer, scope="team")
    assert registry.http.get("/auth/verify", headers=token).status_code == 200
    assert registry.api("DELETE", f"/auth/publishers/{made}", headers=admin(registry)).status_code == 200
    assert registry.http.get("/auth/verify", headers=token).json()["error"]["code"] == "INVALID_TOKEN"
    assert exchange(registry, issuer.token(), scope="team").status_code == 401


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"issuer": "https://token.example.org"},
        {"issuer": "http://token.example.org", "claims": {"sub": "x"}},
        {"issuer": "https://u:p@token.example.org", "claims": {"sub": "x"}},
        {"issuer": "https://token.example.org", "claims": {"aud": "x"}},
        {"issuer": "https://token.example.org", "claims": {"sub": ""}},
        {"issuer": "https://token.example.org", "claims": {"sub": ["x"]}},
        {"issuer": "https://token.example.org", "claims": {"sub": "x"}, "skills": ["corp/x"]},
        {"issuer": "https://token.example.org", "claims": {"sub": "x"}, "expires_in": 5},
        {"github": {"repository": "acme/skills", "owner_id": "1", "workflow": "../x.yml"}},
        {"github": {"repository": "acme/skills", "workflow": "publish.yml"}},
    ],
)
def test_a_publisher_that_says_too_little_is_refused(registry: Registry, body: dict[str, Any]) -> None:
    whole = {"name": "x", "scope": "acme", **body}
    answer = registry.api("POST", "/auth/publishers", json=whole, headers=admin(registry))
    assert code(answer) == (400, "VALIDATION_ERROR")


def test_the_short_form_for_github_says_the_same(registry: Registry) -> None:
    github = {"repository": "acme/skills", "owner_id": "1234", "workflow": "publish.yml", "environment": "release"}
    body = {"name": "x", "scope": "short", "github": github}
    made = registry.api("POST", "/auth/publishers", json=body, headers=admin(registry)).json()["data"]
    assert (made["issuer"], made["claims"]) == ("https://token.actions.githubusercontent.com", CLAIMS)
    listed = registry.api("GET", "/auth/publishers", headers=admin(registry)).json()["data"]
    assert made in listed
    user = registry.api("GET", "/auth/publishers", headers=registry.caller())
    assert code(user) == (403, "FORBIDDEN")


def test_a_workflow_publishes_with_the_command_and_no_secret(
    registry: Registry, issuer: IdentityIssuer, tmp_path: Path
) -> None:
    skill = tmp_path / "pdf-command"
    skill.mkdir()
    (skill / "SKILL.md").write_text(
        "---\nname: pdf-command\ndescription: Reads documents with care.\nversion: 1.0.0\n---\n# Body\n"
    )
    issuer.server.answers["/identity?api-version=2&audience=skill-registry"] = reply(
        json.dumps({"value": issuer.token()}).encode()
    )
    env = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{issuer.url}/identity?api-version=2",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "given-by-the-build-server",
    }
    login = ("login", "--identity", "--server", registry.url, "--scope", "acme")
    done = Done(tmp_path, *login, **env)
    assert done.code == 0, done.error
    assert ("Authorization", "Bearer given-by-the-build-server") in issuer.server.requests[-1][1].items()
    published = Done(tmp_path, "publish", "pdf-command", "--server", registry.url)
    assert published.code == 0, published.error
    assert Done(tmp_path, "logout", "--server", registry.url).code == 0
    run = registry.api("GET", "/skills/acme/pdf-command", headers=registry.caller()).json()["data"]["publisher"]
    assert run["run_id"] == "987654"
    Done(tmp_path, *login).complains(1, "id-token: write")
    assert Done(tmp_path, *login, REGISTRY_IDENTITY_TOKEN=issuer.token()).code == 0


def test_the_command_registers_publishers(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    github = ("--github", "acme/skills", "--owner-id", "1234", "--workflow", "publish.yml", "--environment", "release")
    place = ("--data-dir", "data", "--json")
    made = Done(tmp_path, "publishers", "add", "acme", *github, "--skill", "acme/pdf-*", *place).json
    assert (made["name"], made["claims"], made["skills"]) == ("acme/skills", CLAIMS, ["acme/pdf-*"])
    other = ("--issuer", "https://ci.example.org", "--claim", "project_path=acme/skills")
    assert Done(tmp_path, "publishers", "add", "acme", *other, *place).json["claims"] == {"project_path": "acme/skills"}
    assert Done(tmp_path, "publishers", "only", "acme", *place).json == {"scope": "acme", "trusted_only": True}
    listed = Done(tmp_path, "publishers", "list", *place).json
    assert (len(listed["publishers"]), listed["trusted_scopes"]) == (2, ["acme"])
    assert "only trusted publishers publish to it" in Done(tmp_path, "publishers", "list", "--data-dir", "data").out
    assert Done(tmp_path, "publishers", "remove", made["id"], *place).code == 0
    Done(tmp_path, "publishers", "add", "acme", "--data-dir", "data").complains(1, "issuer")
