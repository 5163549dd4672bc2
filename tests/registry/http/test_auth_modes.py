"""Ways to start the registry profile: who gets a token there, what a restart keeps, what limits hold."""

from pathlib import Path

import httpx
import pytest

from registry.auth.tokens import Tokens
from registry.domain.models import now
from support.credentials import admin_key, code, get_token, make_key
from support.servers import RunningServer, bearer, new_skill

PROFILE = ("--profile", "registry")
PASSWORD = "correct horse battery staple"
SECRET = "0f1e2d3c4b5a69788796a5b4c3d2e1f0-a"


def test_an_expired_token_is_told_from_one_that_is_not_ours(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE, env={"SKILL_REGISTRY_AUTH_SECRET": SECRET}) as server:
        expired, _ = Tokens([SECRET.encode()], 60, now).issue("ada", "user", until=int(now().timestamp()) - 1)
        ours = server.http.get("/auth/verify", headers=bearer(expired))
        forged = server.http.get("/auth/verify", headers=bearer(expired[:-4] + "AAAA"))
        assert code(ours) == code(forged) == (401, "INVALID_TOKEN")
        assert "expired" in ours.json()["error"]["message"]
        assert "expired" not in forged.json()["error"]["message"]
        assert code(server.api("GET", "/skills", headers=bearer(expired))) == (401, "UNAUTHORIZED")
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in files


def test_a_host_name_that_is_allowed_is_still_not_loopback(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE, "--allowed-host", "registry.example") as server:
        assert code(get_token(server, {"Host": "registry.example"}, role="admin")) == (401, "UNAUTHORIZED")
        assert get_token(server, role="admin").status_code == 200


def test_a_closed_issuer_issues_for_credentials_only(tmp_path: Path) -> None:
    key = admin_key(tmp_path)
    with RunningServer(tmp_path, *PROFILE, "--auth-issuer", "closed") as server:
        assert code(get_token(server, role="user")) == (401, "UNAUTHORIZED")
        assert get_token(server, {"x-api-key": key}, role="admin").status_code == 200
        assert server.status()["issuer"] == "closed"


def test_a_service_others_can_reach_issues_nothing_without_a_credential(tmp_path: Path) -> None:
    key = admin_key(tmp_path)
    with RunningServer(tmp_path, *PROFILE, "--host", "0.0.0.0") as server:
        server.http.base_url = f"http://127.0.0.1:{server.http.base_url.port}"
        assert code(get_token(server, role="admin")) == (401, "UNAUTHORIZED")
        assert server.api("GET", "/skills", headers={"x-api-key": key}).status_code == 200
    assert key not in server.log.read_text()
    assert key.split("_", 2)[2].encode() not in b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


def test_a_service_without_credentials_says_how_the_first_is_made(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE, "--host", "0.0.0.0") as server:
        assert "skill-registry admin keys create --role admin" in server.log.read_text()


def test_an_open_issuer_that_others_can_reach_is_warned_of(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE, "--host", "0.0.0.0", "--auth-issuer", "open") as server:
        server.http.base_url = f"http://127.0.0.1:{server.http.base_url.port}"
        assert get_token(server, {"Via": "1.1 proxy"}, role="admin").status_code == 200
        assert server.status()["issuer"] == "open"
        assert "everybody who reaches the port can be an administrator" in server.log.read_text()


def test_failures_are_limited_and_good_credentials_are_not(tmp_path: Path) -> None:
    key = admin_key(tmp_path)
    with RunningServer(tmp_path, *PROFILE) as server:
        failures = [get_token(server, username="nobody", password="a wrong password") for _ in range(11)]
        assert [answer.status_code for answer in failures] == [401] * 10 + [429]
        assert code(failures[-1]) == (429, "RATE_LIMITED")
        assert 0 < int(failures[-1].headers["Retry-After"]) <= 300
        assert get_token(server, role="user").status_code == 429
        assert get_token(server, {"x-api-key": key}, role="user").status_code == 200


def test_a_restart_keeps_tokens_keys_and_what_was_ended(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE) as server:
        good, ended = server.token("admin"), server.token("admin")
        key = make_key(server)["key"]
        server.http.post("/auth/logout", headers=bearer(ended))
    with RunningServer(tmp_path, *PROFILE) as server:
        assert server.api("GET", "/audit", headers=bearer(good)).status_code == 200
        assert server.api("GET", "/skills", headers={"x-api-key": key}).status_code == 200
        assert server.api("GET", "/audit", headers=bearer(ended)).status_code == 401


def test_a_token_ends_with_the_one_it_was_exchanged_for_at_every_worker_and_after_a_restart(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE, "--workers", "2") as server:
        first = server.token("admin")
        answer = get_token(server, bearer(first), role="manager", username="acme/bot")
        second = answer.json()["data"]["token"]
        assert server.http.post("/auth/logout", headers=bearer(first)).is_success
        for _ in range(8):
            with httpx.Client(base_url=server.url, trust_env=False) as fresh:  # another connection, maybe to the other
                assert code(fresh.get("/auth/verify", headers=bearer(second))) == (401, "INVALID_TOKEN")
                assert code(fresh.post("/auth/token", json={}, headers=bearer(second))) == (401, "UNAUTHORIZED")
    with RunningServer(tmp_path, *PROFILE) as server:
        assert server.api("GET", "/skills", headers=bearer(second)).status_code == 401


def test_a_secret_is_followed_by_another_without_signing_anybody_out(tmp_path: Path) -> None:
    new = {"SKILL_REGISTRY_AUTH_SECRET": SECRET[::-1]}
    with RunningServer(tmp_path, *PROFILE, env={"SKILL_REGISTRY_AUTH_SECRET": SECRET}) as server:
        token = server.token("user")
    with RunningServer(tmp_path, *PROFILE, env=new | {"SKILL_REGISTRY_AUTH_PREVIOUS_SECRET": SECRET}) as server:
        assert server.api("GET", "/skills", headers=bearer(token)).status_code == 200
    with RunningServer(tmp_path, *PROFILE, env=new) as server:
        assert server.api("GET", "/skills", headers=bearer(token)).status_code == 401


def test_how_much_a_request_for_a_token_may_hold_is_a_setting(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE, "--limits-token-body-bytes", "50") as server:
        assert get_token(server, role="user").status_code == 200
        assert code(get_token(server, role="user", username="a" * 50)) == (413, "PAYLOAD_TOO_LARGE")


def test_callers_who_ask_too_often_are_told_when_to_come_back(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE, "--limits-reads-per-minute", "3") as server:
        headers, body = bearer(server.token("user", "ada")), {"query": "pdf"}
        answers = [server.api("POST", "/search", json=body, headers=headers) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["2", "1", "0", "0"]
        assert {answer.headers["RateLimit-Limit"] for answer in answers} == {"3"}
        assert code(answers[-1]) == (429, "RATE_LIMITED")
        assert 0 < int(answers[-1].headers["Retry-After"]) <= 60
        assert server.api("POST", "/search", json=body, headers=bearer(server.token("user", "bob"))).status_code == 200
        assert {server.http.get(path).status_code for path in ["/healthz", "/readyz"] * 5} == {200}


def test_reading_without_a_credential_can_be_allowed(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE, "--auth-anonymous-read", "--limits-reads-per-minute", "20") as server:
        manager = bearer(server.token("manager"))
        assert server.api("POST", "/skills", json=new_skill("open-one"), headers=manager).status_code == 201
        assert [server.found("open one"), server.found("open one")] == [["open-one"], ["open-one"]]
        for method, path in (
            ("POST", "/skills"),
            ("DELETE", "/skills/open-one"),
            ("GET", "/audit"),
            ("POST", "/reindex"),
        ):
            assert code(server.api(method, path)) == (401, "UNAUTHORIZED")
        assert code(server.api("GET", "/skills", headers={"Authorization": "Bearer x"})) == (401, "UNAUTHORIZED")
        assert 429 in {server.api("GET", "/skills").status_code for _ in range(20)}


def test_read_only_refuses_after_it_knows_who_asks(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *PROFILE, "--read-only") as server:
        manager = bearer(server.token("manager"))
        for method, path in (("POST", "/skills"), ("PUT", "/skills/x"), ("POST", "/auth/keys"), ("POST", "/reindex")):
            assert code(server.api(method, path, json={})) == (401, "UNAUTHORIZED")
        refused = server.api("POST", "/skills", json=new_skill("refused"), headers=manager)
        assert code(refused) == (403, "FORBIDDEN")
        assert "--read-only" in refused.json()["error"]["message"]
        assert server.api("POST", "/search", json={"query": "x"}, headers=manager).status_code == 200


@pytest.mark.parametrize(("secret", "says"), [("short", "at least 32"), ("change-me-" * 8, "placeholder")])
def test_a_weak_secret_stops_the_start(tmp_path: Path, secret: str, says: str) -> None:
    server = RunningServer(tmp_path, *PROFILE, env={"SKILL_REGISTRY_AUTH_SECRET": secret})
    with pytest.raises(AssertionError):
        server.start()
    assert says in server.log.read_text()
    assert secret not in server.log.read_text()
    assert server.process.wait(60) != 0


def test_no_secret_is_in_the_log_or_any_answer(tmp_path: Path) -> None:
    canaries = {"SKILL_REGISTRY_AUTH_SECRET": SECRET, "OPENAI_API_KEY": "sk-canary-embedding"}
    with RunningServer(tmp_path, *PROFILE, "--log-level", "debug", env=canaries) as server:
        admin = bearer(server.token("admin"))
        server.api("POST", "/auth/users", json={"name": "ada", "password": PASSWORD}, headers=admin)
        get_token(server, username="ada", password=PASSWORD)
        get_token(server, username="ada", password=PASSWORD + "!")
        server.api("GET", "/skills", headers={"x-api-key": "sk_canary_key"})
        texts = [
            server.http.get(path, headers=admin).text for path in ("/api/status", "/schema/openapi.json", "/metrics")
        ]
        texts += [server.api("GET", path, headers=admin).text for path in ("/audit", "/auth/users", "/auth/keys")]
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()) + "".join(texts).encode()
    for canary in (SECRET, "canary", PASSWORD, admin["Authorization"].removeprefix("Bearer ")):
        assert canary.encode() not in written
