"""Every route of every protocol in registry mode: what it answers without a credential, and to a reader."""

import re
from collections.abc import Iterator
from pathlib import Path

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
    body = {"json": {"query": {"text": "whittle"}}} if served.method in {"POST", "PUT", "PATCH"} else {}
    return registry.http.request(served.method, re.sub(r"\{[^}]*\}", "whittle", path), headers=headers, **body)


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
