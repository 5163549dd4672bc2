"""Getting in: tokens, API keys, users, and everything that is none of these."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.credentials import code, get_token, make_key
from support.raw_http import Connection, RawAnswer, request
from support.servers import RunningServer, bearer, new_skill, write_skill

PASSWORD = "correct horse battery staple"
NAMES = [
    "",
    "/",
    "a//b",
    "a/b/c",
    "../x",
    " a",
    "a ",
    "a" * 300,
    "Ada",
    "a\n",
    "-a",
    "a/",
    "/a",
    "a/../b",
    "٢",
    "é",
    "a%2Fb",
]


def ask_raw(server: RunningServer, *headers: str, path: str = "/api/v1/skills") -> RawAnswer:
    with Connection(server.http.base_url.port or 0) as connection:
        return connection.ask(request("GET", path, *headers))


def test_a_token_is_as_the_specification_has_it(registry: RunningServer) -> None:
    answer = get_token(registry, role="manager", username="acme/bot")
    data = answer.json()["data"]
    assert set(data) == {"token", "expires_at", "role", "token_type", "expires_in"}
    assert (answer.status_code, data["role"], data["token_type"], data["expires_in"]) == (
        200,
        "manager",
        "Bearer",
        86400,
    )
    assert answer.headers["Cache-Control"] == "no-store"


def test_verify_says_what_a_token_stands_for(registry: RunningServer) -> None:
    given = get_token(registry, role="manager", username="acme/bot").json()["data"]
    said = registry.http.get("/auth/verify", headers=bearer(given["token"])).json()["data"]
    expected = {
        "valid": True,
        "user": "acme/bot",
        "role": "manager",
        "scope": "acme",
        "expires_at": given["expires_at"],
    }
    assert said == expected


def test_verify_says_what_a_key_stands_for(registry: RunningServer) -> None:
    key = make_key(registry, role="manager")["key"]
    said = registry.http.get("/auth/verify", headers={"x-api-key": key}).json()["data"]
    assert said == {"valid": True, "user": None, "role": "manager", "scope": None, "expires_at": None}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_none_is_refused(registry: RunningServer, name: str) -> None:
    answer = get_token(registry, role="user", username=name)
    assert code(answer) == (400, "VALIDATION_ERROR")
    assert [fault["field"] for fault in answer.json()["error"]["details"]] == ["username"]


@pytest.mark.parametrize(
    "body", [{}, {"role": "root"}, {"role": "Admin"}, {"role": ["admin"]}, {"role": None}, {"role": 1}]
)
def test_a_role_that_is_none_is_refused(registry: RunningServer, body: dict[str, Any]) -> None:
    assert code(get_token(registry, **body)) == (400, "VALIDATION_ERROR")


def test_a_role_said_twice_is_refused(registry: RunningServer) -> None:
    headers = {"Content-Type": "application/json"}
    twice = registry.http.post("/auth/token", content=b'{"role": "user", "role": "admin"}', headers=headers)
    assert code(twice) == (400, "VALIDATION_ERROR")


def test_a_body_that_asks_for_a_token_is_small(registry: RunningServer) -> None:
    assert code(get_token(registry, role="user", more="x" * 5000)) == (413, "PAYLOAD_TOO_LARGE")


def test_a_credential_is_the_most_a_token_can_be(registry: RunningServer) -> None:
    for headers in ({"x-api-key": make_key(registry, role="manager", scope="acme")["key"]},
                    bearer(registry.token("manager", "acme/bot"))):  # fmt: skip
        assert get_token(registry, headers, role="user", username="acme/other").json()["data"]["role"] == "user"
        assert get_token(registry, headers, role="manager").status_code == 200
        assert code(get_token(registry, headers, role="admin")) == (403, "FORBIDDEN")
        assert code(get_token(registry, headers, role="user", username="other/bot")) == (403, "FORBIDDEN")


def test_a_user_signs_in_with_a_password(registry: RunningServer) -> None:
    admin = bearer(registry.token("admin"))
    made = registry.api(
        "POST", "/auth/users", json={"name": "acme/ada", "password": PASSWORD, "role": "manager"}, headers=admin
    )
    assert (made.status_code, made.headers["Location"]) == (201, "/api/v1/auth/users/acme/ada")
    assert "password" not in made.text
    login = {"username": "acme/ada", "password": PASSWORD}
    token = get_token(registry, **login).json()["data"]
    assert token["role"] == "manager"
    assert code(get_token(registry, role="admin", **login)) == (403, "FORBIDDEN")
    assert registry.api("PUT", "/auth/users/acme%2Fada", json={"role": "user"}, headers=admin).status_code == 200
    assert registry.api("GET", "/skills", headers=bearer(token["token"])).status_code == 401
    assert registry.api("DELETE", "/auth/users/acme/ada", headers=admin).status_code == 200
    assert code(get_token(registry, **login)) == (401, "UNAUTHORIZED")


def test_a_key_is_shown_once_and_ends_at_once(registry: RunningServer) -> None:
    admin = bearer(registry.token("admin"))
    made = make_key(registry, name="once", role="manager")
    with_key = {"x-api-key": made["key"]}
    assert registry.api("POST", "/skills", json=new_skill("by-key"), headers=with_key).status_code == 201
    listed = registry.api("GET", "/auth/keys", params={"limit": 100}, headers=admin)
    assert made["id"] in listed.text
    assert made["key"].split("_", 2)[2] not in listed.text
    assert registry.api("DELETE", f"/auth/keys/{made['id']}", headers=admin).status_code == 200
    assert registry.api("GET", "/skills", headers=with_key).status_code == 401


def test_the_last_use_of_a_key_is_noted(registry: RunningServer) -> None:
    admin, made = bearer(registry.token("admin")), make_key(registry, name="used")

    def last_use() -> str | None:
        keys = registry.api("GET", "/auth/keys", params={"limit": 100}, headers=admin).json()["data"]
        used: str | None = next(key["last_used_at"] for key in keys if key["id"] == made["id"])
        return used

    assert last_use() is None
    registry.api("GET", "/skills", headers={"x-api-key": made["key"]})
    registry.wait_for(lambda: last_use() is not None)


def test_a_good_credential_does_not_make_up_for_a_bad_one(registry: RunningServer) -> None:
    key, token = make_key(registry)["key"], registry.token("user")
    for headers in ({"x-api-key": key, "Authorization": "Bearer x"}, {"x-api-key": "sk_x", **bearer(token)}):
        assert code(registry.api("GET", "/skills", headers=headers)) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer ", "Bearer  {token}", "Bearer {token} x", "Bearer\t{token}", "{token}", "Basic {token}",
     "Token {token}", "Bearer \xe9\xff", "Bearer {token}\xe9", "Bearer " + "a" * 10_000, "Bearer null", "Bearer ..",
     'Bearer "{token}"'],
)  # fmt: skip
def test_a_header_that_is_not_a_token_is_refused(registry: RunningServer, header: str) -> None:
    answer = ask_raw(registry, "Authorization: " + header.replace("{token}", registry.token("user")))
    assert (answer.status, answer.code) == (401, "UNAUTHORIZED")
    verified = ask_raw(registry, "Authorization: " + header, path="/auth/verify")
    assert (verified.status, verified.code) == (401, "INVALID_TOKEN")
    assert verified.headers["www-authenticate"] == "Bearer"


def test_two_credentials_of_a_kind_are_refused(registry: RunningServer) -> None:
    token, key = registry.token("user"), make_key(registry)["key"]
    assert ask_raw(registry, f"Authorization: Bearer {token}").status == 200
    assert ask_raw(registry, *[f"Authorization: Bearer {token}"] * 2).code == "UNAUTHORIZED"
    assert ask_raw(registry, *[f"x-api-key: {key}"] * 2).code == "UNAUTHORIZED"
    assert ask_raw(registry, *[f"Authorization: Bearer {token}"] * 2, path="/auth/verify").code == "INVALID_TOKEN"


@pytest.mark.parametrize("key", ["", " ", "sk_", "\xe9", "sk_\xe9_\xff", "a" * 10_000, "sk_000000000000_" + "A" * 43])
def test_a_header_that_is_not_a_key_is_refused(registry: RunningServer, key: str) -> None:
    for path, refusal in (("/api/v1/skills", "UNAUTHORIZED"), ("/auth/verify", "INVALID_TOKEN")):
        answer = ask_raw(registry, f"x-api-key: {key}", path=path)
        assert (answer.status, answer.code) == (401, refusal)


@pytest.mark.parametrize("header", ["Authorization: Bearer ", "x-api-key: "])
def test_a_credential_of_a_megabyte_is_refused(registry: RunningServer, header: str) -> None:
    with Connection(registry.http.base_url.port or 0) as connection:
        connection.send(request("GET", "/api/v1/skills", header + "a" * 32_000))
        answer = connection.answer()
    assert (answer.status, answer.code) == (431, "HEADERS_TOO_LARGE")


def test_a_token_ends_when_asked_to_and_others_do_not(registry: RunningServer) -> None:
    first, second = registry.token("user"), registry.token("user")
    assert registry.http.post("/auth/logout", headers=bearer(first)).status_code == 200
    assert code(registry.http.get("/auth/verify", headers=bearer(first))) == (401, "INVALID_TOKEN")
    assert registry.api("GET", "/skills", headers=bearer(first)).status_code == 401
    assert registry.api("GET", "/skills", headers=bearer(second)).status_code == 200
    assert code(registry.http.post("/auth/logout", headers={"x-api-key": make_key(registry)["key"]})) == (
        400,
        "VALIDATION_ERROR",
    )


def test_a_token_ended_by_many_at_once_ends_without_a_fault(registry: RunningServer) -> None:
    headers = bearer(registry.token("user"))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: registry.http.post("/auth/logout", headers=headers).status_code, range(16)))
    assert 200 in answers
    assert set(answers) <= {200, 401}


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "Via: 1.1 proxy", "X-Real-IP: 127.0.0.1"]
)
def test_a_proxy_cannot_ask_for_a_role(registry: RunningServer, header: str) -> None:
    body = b'{"role": "admin"}'
    with Connection(registry.http.base_url.port or 0) as connection:
        asked = request("POST", "/auth/token", header, body=body, content_type="application/json")
        assert connection.ask(asked).code == "UNAUTHORIZED"


def test_a_page_elsewhere_cannot_ask_for_a_role(registry: RunningServer) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
        assert code(get_token(registry, headers, role="admin")) == (403, "FORBIDDEN")


def test_answers_from_memory_need_a_credential_too(registry: RunningServer) -> None:
    body, headers = {"query": "remembered"}, bearer(registry.token("user"))
    first, second = (registry.api("POST", "/search", json=body, headers=headers) for _ in range(2))
    assert first.json() == second.json()
    for bad in ({}, {"Authorization": "Bearer x"}, {"x-api-key": ""}):
        assert code(registry.api("POST", "/search", json=body, headers=bad)) == (401, "UNAUTHORIZED")


def test_the_status_is_public_but_names_no_folders_to_outsiders(registry: RunningServer) -> None:
    write_skill(registry.skills_dir, "secret-project", "").joinpath("SKILL.md").write_text("no front matter")
    user = bearer(registry.token("user"))
    registry.wait_for(lambda: "secret-project" in registry.http.get("/api/status", headers=user).text)
    for path in ("/api/status", "/api/v1/status"):
        for headers in ({}, {"Authorization": "Bearer x"}):
            answer = registry.http.get(path, headers=headers)
            assert (answer.status_code, "secret-project" in answer.text) == (200, False)
    assert registry.status()["issuer"] == "loopback"


def test_a_header_and_a_body_are_decoded_once(registry: RunningServer) -> None:
    body = json.dumps({"role": "user", "username": "acme/bot"}).replace("acme/bot", "acme\\u002fbot").encode()
    answer = registry.http.post("/auth/token", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200
    assert code(get_token(registry, role="user", username="acme%2Fbot")) == (400, "VALIDATION_ERROR")
