"""Every route of every protocol in registry mode: without a credential, to a reader, and to requests nobody sends."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar import Litestar, Router
from litestar.di import Provide

from registry.server.app import PROTOCOLS
from support.publishing import Registry, skill_package
from support.routes import Served, served_by

PUBLIC = {"/.well-known/ai-catalog.json", "/.well-known/clawhub.json"}
"""The documents that name what a service speaks, for programs that know nothing but its address."""

CHANGES = [
    ("POST", "/v1/skills"),
    ("DELETE", "/v1/skills/acme/whittle"),
    ("POST", "/v1/skills/acme/whittle/versions"),
    ("DELETE", "/v1/skills/acme/whittle/versions/1.0.0"),
]


def routes() -> list[Served]:
    """Return the operations of all protocols."""
    handlers = [handler for group in PROTOCOLS.values() for handler in group]
    unused = {name: Provide(lambda: None, sync_to_thread=False) for name in ("services", "running", "page")}
    return served_by(Litestar([Router("/", route_handlers=handlers)], dependencies=unused, openapi_config=None))


def ask(registry: Registry, served: Served, headers: dict[str, str]) -> httpx.Response:
    """Send a request to a route: for the published skill where it names one."""
    path = re.sub(r"\{[^}]*scope\}/\{[^}]*name\}", "acme/whittle", served.path)
    path = re.sub(r"\{[^}/]*path\}", "acme/whittle/SKILL.md", path)
    body = {"query": {"text": "whittle"}} if served.method in {"POST", "PUT", "PATCH"} else None
    return registry.http.request(served.method, re.sub(r"\{[^}]*\}", "whittle", path), headers=headers, json=body)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder: Path = tmp_path_factory.mktemp("routes")
    with Registry(folder) as running:
        assert running.finished(running.publish(skill_package("whittle")))["status"] == "accepted"
        yield running


def test_without_a_credential_only_the_discovery_documents_are_answered(registry: Registry) -> None:
    answered = set()
    for served in routes():
        answer = ask(registry, served, {})
        if answer.status_code == 401:
            assert answer.headers["WWW-Authenticate"], served
        else:
            answered.add(served.path)
            assert answer.status_code == 200, served
    assert answered
    assert answered <= PUBLIC


def test_no_answer_holds_the_token_of_the_caller(registry: Registry) -> None:
    headers = registry.caller("reader", "user")
    token = headers["Authorization"].removeprefix("Bearer ")
    for served in routes():
        answer = ask(registry, served, headers)
        assert answer.status_code != 401, served
        assert answer.status_code < 500, served
        assert token not in answer.text, served
        assert token not in str(answer.headers), served


def test_a_reader_publishes_and_deletes_nothing(registry: Registry) -> None:
    headers = registry.caller("reader", "user")
    changes = [*CHANGES, *((one.method, one.path) for one in routes() if one.method in {"DELETE", "PUT", "PATCH"})]
    files = {"files": ("whittle/SKILL.md", b"---\nname: whittle\ndescription: Whittles.\nversion: 2.0.0\n---\n")}
    for method, path in changes:
        url = re.sub(r"\{[^}]*\}", "whittle", path)
        answer = registry.http.request(method, url, headers=headers, files=files if method == "POST" else None)
        assert answer.status_code == 403, (method, path, answer.text)
    assert registry.get("/api/v1/skills/acme/whittle").json()["data"]["version"] == "1.0.0"


VALUES = [
    "whittle", "acme", "..", "%2e%2e", "%00", "%ff", "a%2fb", "", "@", "é", "-1", "0", "1e9", "9" * 400, "null", "{}",
    "x" * 3000, "marketplace.git", "1.0.0", "skill://acme/whittle/SKILL.md", "eyJvIjotMX0", "AAAA====", "' or 1=1 --",
    "*", "%F0%9F%92%A9",
]  # fmt: skip
QUERIES = (
    *("q", "limit", "cursor", "page", "after", "offset", "version"),
    *("path", "slug", "ownerHandle", "hash", "sort", "service"),
)
BODIES = [
    b"", b"{", b"null", b"[]", b"0", b'"x"', b"\xff", b"{}" * 2000, b"[" * 5000, b'{"a":1e999}', b"\x1f\x8b\x08",
    b"0032want x", b'{"jsonrpc":"2.0","id":1,"method":"skills/list","params":{"cursor":"\\ud800"}}',
    b'{"query":{"text":null},"pageToken":"x"}',
    b'{"jsonrpc":"2.0","id":{},"method":"tools/call","params":[]}',
    b'{"query":{"text":"a","filter":[1]},"pageSize":-1}',
    b'{"slug":"whittle","version":"x","files":[{"path":"../x","size":-1}]}', b'{"items":[{"slug":1}]}',
    b"--x\r\n\r\n--x--",
]  # fmt: skip
TYPES = [
    "application/json", "text/plain", "application/octet-stream", "application/x-git-upload-pack-request",
    "multipart/form-data; boundary=x", "application/json; charset=utf-7", "",
]  # fmt: skip


def drawn(rng: random.Random, served: Served) -> dict[str, Any]:
    """Return a request to a route that no client sends."""
    path = re.sub(r"\{[^}]*\}", lambda _: rng.choice(VALUES), served.path)
    query = "&".join(f"{rng.choice(QUERIES)}={rng.choice(VALUES)}" for _ in range(rng.randint(0, 3)))
    headers = {"Content-Type": rng.choice(TYPES), "If-None-Match": rng.choice(["*", '"x"', "W/", "é".encode().hex()])}
    headers |= {"Content-Encoding": "gzip"} if rng.random() < 0.1 else {}
    body = {} if served.method in {"GET", "HEAD"} else {"content": rng.choice(BODIES)}
    return {"method": served.method, "url": f"{path}?{query}", "headers": headers, **body}


def test_drawn_requests_are_answered_without_an_error_of_the_service_and_change_nothing(registry: Registry) -> None:
    """A manager sends them, who may publish and delete, but to no route that deletes."""
    rng = random.Random(17)
    caller = registry.caller()
    before = registry.get("/tree/index.json").content, registry.get("/api/v1/skills/acme/whittle").json()["data"]
    for served in routes():
        for _ in range(30 if served.method != "DELETE" else 0):
            asked = drawn(rng, served)
            asked["headers"] |= caller
            answer = registry.http.request(**asked)
            assert answer.status_code < 500, (asked, answer.text)
    assert registry.get("/tree/index.json").content == before[0]
    assert registry.get("/api/v1/skills/acme/whittle").json()["data"] == before[1]
