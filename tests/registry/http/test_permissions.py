"""Every route of the registry profile, for everybody: who may not is told so, who may is let in."""

import datetime
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from registry.auth.secret import load_or_create_secret
from registry.auth.tokens import Tokens
from support.routes import Served, application, served_by
from support.servers import RunningServer, bearer

RANK = {"user": 1, "manager": 2, "admin": 3}
VALUES = {"skill_scope": "acme", "skill_name": "absent-one", "version": "9.9.9", "path": "SKILL.md", "rest": "x"}


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> list[Served]:
    with application(tmp_path_factory.mktemp("routes"), "registry") as app:
        # A token that ended could not be used for the routes that follow.
        return sorted(served_by(app), key=lambda one: (one.path == "/auth/logout", one))


def ask(server: RunningServer, route: Served, headers: Mapping[str, str]) -> httpx.Response:
    names = (part.strip("{}") for part in route.path.split("/") if part.startswith("{"))
    path = route.path
    for name in names:
        path = path.replace(f"{{{name}}}", VALUES.get(name, "absent-one"))
    body: dict[str, str] | None = None if route.method == "GET" else {}
    return server.http.request(route.method, path, json=body, headers=dict(headers))


def answers(server: RunningServer, routes: list[Served], headers: Mapping[str, str]) -> Iterator[tuple[Served, int]]:
    for route in routes:
        yield route, ask(server, route, headers).status_code


def key(server: RunningServer, role: str) -> tuple[str, dict[str, str]]:
    body = {"name": f"{role} key", "role": role, "scope": "acme"}
    made = server.api("POST", "/auth/keys", json=body, headers=bearer(server.token("admin"))).json()["data"]
    return made["id"], {"x-api-key": made["key"]}


def expired(data_dir: Path) -> str:
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    return Tokens([load_or_create_secret(data_dir)], 3600, lambda: yesterday).issue("dev-user", "admin")[0]


def test_every_guarded_route_declares_a_role(routes: list[Served]) -> None:
    assert {route.path for route in routes if not route.guarded} == {
        "/", "/dashboard", "/favicon.ico", "/healthz", "/readyz", "/schema", "/schema/openapi.json", "/schema/{path}",
        "/skills/{skill}", "/ui/{path}", "/llms.txt", "/robots.txt",
    }  # fmt: skip
    assert [route for route in routes if route.guarded and route.role not in {*RANK, "public"}] == []


@pytest.mark.parametrize("role", RANK)
@pytest.mark.parametrize("kind", ["token", "key"])
def test_a_role_may_do_what_its_routes_declare_and_no_more(
    registry: RunningServer, routes: list[Served], role: str, kind: str
) -> None:
    headers = bearer(registry.token(role)) if kind == "token" else key(registry, role)[1]
    for route, status in answers(registry, routes, headers):
        needed = RANK.get(route.role or "", 0) if route.guarded else 0
        if RANK[role] < needed:
            assert status == 403, route
        elif route.path == "/auth/verify":
            assert status == 200, route
        else:
            assert status not in (401, 403), route
            assert status < 500, route


@pytest.mark.parametrize("kind", ["none", "revoked key", "expired", "forged", "malformed"])
def test_without_a_good_credential_only_what_is_public_answers(
    registry: RunningServer, routes: list[Served], kind: str
) -> None:
    key_id, key_headers = key(registry, "admin")
    registry.api("DELETE", f"/auth/keys/{key_id}", headers=bearer(registry.token("admin")))
    forged = Tokens([b"0f1e2d3c4b5a69788796a5b4c3d2e1f0"], 60, lambda: datetime.datetime.now(datetime.UTC))
    headers = {
        "none": {},
        "revoked key": key_headers,
        "expired": bearer(expired(registry.data_dir)),
        "forged": bearer(forged.issue("dev-user", "admin")[0]),
        "malformed": {"Authorization": "Basic YWRtaW46YWRtaW4="},
    }[kind]
    for route, status in answers(registry, [one for one in routes if not one.path.startswith("/auth/")], headers):
        if route.guarded and route.role != "public":
            assert status == 401, route
        else:
            assert status not in (401, 403), route


def test_a_route_that_is_not_there_says_so_before_it_asks_who(registry: RunningServer) -> None:
    for path in ("/api/nothing", "/api/v1/nothing", "/api/code/v1/nothing", "/auth/nothing", "/v1/nothing", "/nothing"):
        answer = registry.http.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


def test_a_refusal_says_how_to_sign_in_or_which_role_is_needed(registry: RunningServer) -> None:
    refused = registry.api("GET", "/skills")
    assert (refused.json()["error"]["code"], refused.headers["WWW-Authenticate"]) == ("UNAUTHORIZED", "Bearer")
    too_low = registry.api("GET", "/audit", headers=bearer(registry.token("manager")))
    assert (too_low.status_code, too_low.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert "'admin'" in too_low.json()["error"]["message"]


def test_who_may_not_is_told_before_what_is_wrong_with_the_request(registry: RunningServer) -> None:
    user = bearer(registry.token("user"))
    for headers, status in (({}, 401), (user, 403)):
        for body in (b"{", b"x" * (2 << 20)):
            answer = registry.http.post("/api/v1/skills", content=body, headers=headers)
            assert answer.status_code == status
