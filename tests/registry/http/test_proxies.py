"""Behind a proxy: whom a request is counted for, and whose word is taken for it."""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.auth.connection_owner import Address, owner_at_once, owner_of
from registry.config.settings import load_settings
from registry.http.routes.guards import may_change
from registry.server.app import create_app
from registry.services.container import Services
from support import plain_proxy
from support.credentials import code, get_token
from support.plain_proxy import PlainProxy
from support.raw_http import Connection
from support.servers import RunningServer, bearer, new_skill

STRICT = ("--profile", "registry", "--limits-token-failures", "2")
TRUSTING = (*STRICT, "--trusted-proxy", "127.0.0.0/8", "--trusted-proxy", "::1", "--trusted-proxy", "10.0.0.0/8")
ADA, BOB = "203.0.113.1", "2001:db8::2"


def guess(server: RunningServer, forwarded: str) -> int:
    answer = get_token(server, {"X-Forwarded-For": forwarded}, username="nobody", password="a wrong password")
    return int(answer.status_code)


def clients(server: RunningServer) -> list[str]:
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    return [line["client"] for line in lines if line.get("path") == "/auth/token"]


def test_callers_behind_a_trusted_proxy_are_counted_apart(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *TRUSTING, "--log-format", "json") as server:
        assert [guess(server, ADA) for _ in range(3)] == [401, 401, 429]
        assert guess(server, BOB) == 401
        server.wait_for(lambda: clients(server) == [ADA] * 3 + [BOB])


def test_only_what_trusted_proxies_have_added_is_believed(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *TRUSTING) as server:
        assert [guess(server, f"203.0.113.{number}, {ADA}, 10.1.2.3") for number in (7, 8, 9)] == [401, 401, 429]
        assert guess(server, f"{ADA}, {BOB}") == 401


def test_all_addresses_of_one_network_of_ipv6_are_one_caller(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *TRUSTING) as server:
        assert [guess(server, f"2001:db8::{number}") for number in (1, 2, 3)] == [401, 401, 429]
        assert guess(server, "2001:db8:0:1::1") == 401


def test_without_trust_all_are_the_proxy(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *STRICT, "--trusted-proxy", "192.0.2.0/24") as server:
        assert [guess(server, f"203.0.113.{number}") for number in (1, 2, 3)] == [401, 401, 429]


def test_no_proxy_can_make_a_caller_local(tmp_path: Path) -> None:
    with RunningServer(tmp_path, *TRUSTING) as server:
        for forwarded in ("127.0.0.1", "::1", "unknown", "127.0.0.1, 10.0.0.1"):
            assert code(get_token(server, {"X-Forwarded-For": forwarded}, role="admin")) == (401, "UNAUTHORIZED")


@pytest.mark.skipif(not plain_proxy.can_run, reason="needs root, to start a process of another user")
def test_a_proxy_that_adds_no_header_makes_nobody_local(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry") as server, PlainProxy(server.http.base_url) as proxy:
        answer = proxy.http.post("/auth/token", json={"role": "admin"})
        assert code(answer) == (401, "UNAUTHORIZED")
        assert "another user of this machine" in answer.json()["error"]["message"]
        token = bearer(server.token("manager"))
        assert proxy.http.get("/api/v1/skills", headers=token).status_code == 200


@pytest.mark.skipif(not plain_proxy.can_run, reason="needs root, to start a process of another user")
def test_nobody_changes_a_local_service_through_a_proxy(tmp_path: Path) -> None:
    with RunningServer(tmp_path) as server, PlainProxy(server.http.base_url) as proxy:
        for number in range(3):  # the kernel is asked in a thread first, later at once
            assert code(proxy.http.post("/api/v1/skills", json=new_skill("planted"))) == (403, "FORBIDDEN")
            assert server.api("POST", "/skills", json=new_skill(f"own-{number}")).status_code == 201
        assert proxy.http.post("/api/v1/search", json={"query": "planted"}).json()["data"]["skills"] == []


def test_the_kernel_tells_the_owner_of_a_connection_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address: Address = listening.getsockname()
        with socket.create_connection(address) as client:
            ends = (client.getsockname(), address)
            if owner_of(*ends) is not None:
                assert owner_at_once(*ends) == os.geteuid()


@pytest.mark.parametrize("flags", [(), ("--read-only",)])
def test_every_handler_of_a_local_service_that_may_change_something_is_guarded(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    settings = load_settings({"data_dir": tmp_path, "skills_dir": tmp_path, "server.read_only": bool(flags)}, {})
    services = Services(settings)
    try:
        app = create_app(services)
    finally:
        services.close()
    handlers = [handler for route in app.routes for handler in getattr(route, "route_handlers", ())]
    assert [handler for handler in handlers if bool(handler.resolve_guards()) != may_change(handler)] == []
    assert {bool(handler.resolve_guards()) for handler in handlers} == {True, False}


CHANGES = [
    ("POST", "/api/v1/skills", new_skill("planted")),
    ("DELETE", "/api/v1/skills/own", None),
    ("POST", "/api/v1/reindex", {}),
    ("POST", "/api/v1/registry/sources", {"name": "etc", "type": "local", "url": "/etc"}),
    ("POST", "/api/v1/skills", {"source_url": "/etc", "source_type": "local"}),
]


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via", "X-Real-IP"])
def test_a_forwarded_request_changes_nothing_in_a_local_service(local: RunningServer, header: str) -> None:
    for method, path, body in CHANGES:
        answer = local.http.request(method, path, json=body, headers={header: "127.0.0.1"})
        assert code(answer) == (403, "FORBIDDEN"), (method, path)
        assert "server.trusted_proxies" in answer.json()["error"]["message"]
    assert local.api("GET", "/skills/own", headers={header: "127.0.0.1"}).status_code == 200


def test_a_request_of_http_1_0_changes_nothing_in_a_local_service(local: RunningServer) -> None:
    body = json.dumps(new_skill("planted")).encode()
    head = f"POST /api/v1/skills HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    with Connection(local.http.base_url.port or 0) as connection:
        assert connection.ask(f"{head}Content-Type: application/json\r\n\r\n".encode() + body).status == 403


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("local")) as server:
        assert server.api("POST", "/skills", json=new_skill("own")).status_code == 201
        yield server


@pytest.mark.parametrize("setting", [("--trusted-proxy", "127.0.0.1"), ("--allowed-host", "skills.example")])
def test_an_operator_can_put_a_local_service_behind_a_proxy(tmp_path: Path, setting: tuple[str, str]) -> None:
    with RunningServer(tmp_path, *setting) as server:
        answer = server.api("POST", "/skills", json=new_skill("wanted"), headers={"X-Forwarded-For": ADA})
        assert answer.status_code == 201


def test_an_administrator_is_told_to_set_the_issuer_behind_a_proxy(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry") as server:
        admin, user = bearer(server.token("admin")), bearer(server.token("user"))
        assert notices(server, admin) == {}
        for number in range(3):
            server.api("GET", "/skills", headers={"X-Forwarded-For": f"203.0.113.{number}"})
        assert list(notices(server, admin)) == ["auth.issuer"]
        assert notices(server, user) == notices(server, {}) == {}
        assert server.log.read_text().count("set auth.issuer = closed: requests come through a proxy") == 1


def test_a_set_issuer_needs_no_notice(tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--profile", "registry", "--auth-issuer", "open") as server:
        admin = bearer(server.token("admin"))
        assert notices(server, admin | {"X-Forwarded-For": ADA}) == {}
        assert "requests come through a proxy" not in server.log.read_text()


def notices(server: RunningServer, headers: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = server.api("GET", "/status", headers=headers).json()["data"]["notices"]
    return found
