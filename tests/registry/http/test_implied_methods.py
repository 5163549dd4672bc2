"""`HEAD` and `OPTIONS` of every route of both profiles, which nobody writes a handler for."""

import re
import socket
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import httpx
import pytest

from support.raw_http import request as raw_request
from support.routes import Served
from support.site import Site
from support.waiting import wait_until

CHANGING = {"date", "x-request-id", "ratelimit-remaining", "ratelimit-reset", "transfer-encoding"}
"""Headers that differ between two requests, and the one that only describes how a body is sent."""
ALIVE = ("/status", "/metrics", "/search")
"""The ends of paths whose answers hold a time or a count."""
FOREIGN = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}


def lasting(answer: httpx.Response) -> dict[str, str]:
    """Return the headers that do not differ from one request to the next."""
    alive = {"content-length", "etag"} if answer.url.path.endswith(ALIVE) else set()
    return {name: value for name, value in answer.headers.items() if name not in CHANGING | alive}


def reads(site: Site) -> Iterator[tuple[Served, str]]:
    return ((route, site.path(route)) for route in site.routes if route.method == "GET")


def bytes_of(site: Site, *requests: bytes) -> bytes:
    """Return all that the server sends on one connection."""
    with socket.create_connection((site.server.http.base_url.host, site.server.http.base_url.port)) as connection:
        connection.sendall(b"".join(requests))
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_head_is_get_without_the_body(site: Site, encoding: str) -> None:
    found = 0
    for route in site.routes:
        path = site.path(route)
        head, get = (site.ask(method, path, **{"Accept-Encoding": encoding}) for method in ("HEAD", "GET"))
        assert (head.status_code, lasting(head)) == (get.status_code, lasting(get)), route
        assert head.content == b"", route
        assert ("content-length" in head.headers) == ("content-length" in get.headers), route
        found += get.status_code == 200
    assert found > 20


def test_head_needs_the_role_of_get(site: Site) -> None:
    anybody = Site(site.server, site.routes, {})
    for route, path in reads(site):
        head, get = (anybody.ask(method, path) for method in ("HEAD", "GET"))
        assert (head.status_code, lasting(head)) == (get.status_code, lasting(get)), route
        if route.guarded and route.role != "public":
            assert head.status_code == 401, route


def test_head_sends_not_one_byte_of_a_body(site: Site) -> None:
    headers = [f"{name}: {value}" for name, value in site.headers.items()]
    for route, path in reads(site):
        answer = bytes_of(site, raw_request("HEAD", path, *headers, "Connection: close"))
        assert answer.index(b"\r\n\r\n") == len(answer) - 4, route


def test_a_connection_goes_on_after_the_head_of_a_file(site: Site) -> None:
    headers = [f"{name}: {value}" for name, value in site.headers.items()]
    file = "/packages/acme/whittle/1.0.0.zip" if site.headers else "/api/v1/skills/plain-one/files/SKILL.md"
    last = raw_request("GET", "/healthz", "Connection: close")
    answer = bytes_of(site, raw_request("HEAD", file, *headers) * 3, last)
    assert answer.count(b"HTTP/1.1 200 OK") == 4
    assert answer.count(b'{"status":"ok"') == 1


def test_head_finds_a_known_etag(site: Site) -> None:
    known = site.ask("GET", "/api/v1/skills/plain-one").headers["ETag"]
    answer = site.ask("HEAD", "/api/v1/skills/plain-one", **{"If-None-Match": known})
    assert (answer.status_code, answer.headers["ETag"]) == (304, known)


def test_options_names_every_method_of_a_path_to_anybody(site: Site) -> None:
    by_shape = defaultdict(set)
    for route in site.routes:
        by_shape[re.sub(r"\{\w+\}", "{}", route.path)].add(route.method)
    for route in site.routes:
        methods = by_shape[re.sub(r"\{\w+\}", "{}", route.path)] | {"OPTIONS"}
        answer = site.server.http.request("OPTIONS", site.path(route), headers=FOREIGN)
        assert answer.status_code == 204, route
        assert answer.headers["Allow"] == ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_a_refused_method_is_told_the_same(site: Site) -> None:
    for route in site.routes:
        refused = site.ask("TRACE", path := site.path(route))
        assert refused.status_code == 405, route
        assert refused.headers["Allow"] == site.ask("OPTIONS", path).headers["Allow"], route


def test_options_of_nothing_is_404(site: Site) -> None:
    assert site.ask("OPTIONS", "/nothing").json()["error"]["code"] == "NOT_FOUND"


def test_the_log_has_the_method_that_was_sent(site: Site) -> None:
    for method in ("HEAD", "OPTIONS"):
        site.ask(method, "/healthz", **{"X-Request-ID": f"sent-{method}"})
        # The line is written after the response.
        wait_until(partial(lambda sent: sent in site.server.log.read_text(), f"sent-{method}"))
        line = next(one for one in site.server.log.read_text().splitlines() if f"sent-{method}" in one)
        assert f"method={method}" in line
        assert "bytes=0" in line
