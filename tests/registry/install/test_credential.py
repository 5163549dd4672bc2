"""The credential for a registry reaches that registry and nobody else, whatever the registry answers."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from support.front import HEADERS, Front, Rewrite
from support.parties import ClosedRegistry, Developer
from support.s3 import SeaweedFS
from support.web_server import WebServer


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, bucket: SeaweedFS) -> Iterator[ClosedRegistry]:
    with ClosedRegistry(tmp_path_factory.mktemp("registry"), bucket, {}) as running:
        running.release("hello")
        yield running


@pytest.fixture
def thief() -> Iterator[WebServer]:
    with WebServer() as web:
        yield web


def redirecting(thief: WebServer) -> Rewrite:
    """Packages are elsewhere."""

    def rewrite(path: str, answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
        if path.startswith("/packages/"):
            return 302, {"Location": f"{thief.url}{path}"}, b""
        return answer.status_code, {}, answer.content

    return rewrite


def renaming(thief: WebServer) -> Rewrite:
    """Documents name another address of the registry, and of the packages."""

    def rewrite(path: str, answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
        body = answer.content
        if path.startswith("/.well-known/"):
            body = json.dumps({**answer.json(), "url": thief.url}).encode()
        elif path.startswith("/index/"):
            lines = [json.loads(line) | {"download_url": f"{thief.url}/hello.zip"} for line in body.splitlines()]
            body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return answer.status_code, {}, body

    return rewrite


def moved(thief: WebServer) -> Rewrite:
    """All of the registry is elsewhere."""
    return lambda path, _: (301, {"Location": f"{thief.url}{path}"}, b"")


@pytest.mark.parametrize(("rewrite", "installs"), [(redirecting, False), (renaming, True), (moved, False)])
def test_no_other_host_is_sent_the_credential(
    registry: ClosedRegistry,
    thief: WebServer,
    tmp_path: Path,
    rewrite: Callable[[WebServer], Rewrite],
    installs: bool,
) -> None:
    key = registry.new_key("manager")
    with WebServer() as front:
        front.answers = Front(registry, rewrite(thief))
        developer = Developer(tmp_path / "developer", registry, key)
        developer.env |= {
            "SKILL_REGISTRY_SERVER": front.url,
            "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": f"{front.host},{thief.host}",
        }
        skill = f"{registry.scope}/hello"
        done = [developer.run("install", skill), developer.run("upgrade"), developer.run("verify", "--log")]
        assert (done[0].code == 0) == installs, done[0].out + done[0].error
        done += [
            developer.run("sources", "add", "corp", front.url, "--type", "registry"),
            developer.run("sources", "refresh"),
            developer.run("search", "hello"),
            developer.run("install", "--locked"),
            developer.run("publish", "skills/hello") if installs else developer.run("yank", f"{skill}@1.0.0"),
        ]
        asked = [headers for _, headers in front.requests]
        assert any(key in headers.values() for headers in asked), "the registry itself gets it"
    assert thief.requests, "the other host was asked for something"
    for _, headers in thief.requests:
        assert key not in json.dumps(headers)
        assert not {name.lower() for name in headers} & set(HEADERS)
    assert key not in "".join(one.out + one.error for one in done)
    kept = [path for path in developer.folder.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert kept == []
