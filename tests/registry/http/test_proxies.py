"""Behind a proxy: whom a request is counted for, and whose word is taken for it."""

import json
from pathlib import Path

from support.credentials import code, get_token
from support.servers import RunningServer

STRICT = ("--profile", "registry", "--limits-token-failures", "2")
TRUSTING = (*STRICT, "--trusted-proxy", "127.0.0.0/8", "--trusted-proxy", "::1", "--trusted-proxy", "10.0.0.0/8")
ADA, BOB = "203.0.113.1", "2001:db8::2"


def guess(server: RunningServer, forwarded: str) -> int:
    answer = get_token(server, {"X-Forwarded-For": forwarded}, username="nobody", password="a wrong password")
    return answer.status_code


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
