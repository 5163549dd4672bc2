"""A server between a mirror and its registry that changes what it answers: the mirror keeps none of it."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.front import Front
from support.publishing import Registry, skill_package
from support.servers import RunningServer
from support.web_server import WebServer


class Known(Registry):
    """A registry that everybody may read."""

    @property
    def address(self) -> str:
        """The URL that others name."""
        return self.url


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Known]:
    with Known(tmp_path_factory.mktemp("registry"), "--auth-anonymous-read") as running:
        for name in ("hello", "other"):
            running.finished(running.publish(skill_package(name)))
        yield running


def _package(path: str, body: bytes) -> bytes:
    return bytes([body[0] ^ 1]) + body[1:] if path.startswith("/packages/") else body


def _index(path: str, body: bytes) -> bytes:
    if not path.startswith("/index/"):
        return body
    line = json.loads(body)
    return json.dumps({**line, "cksum": f"sha256:{'0' * 64}"}).encode()


def _entries(path: str, body: bytes) -> bytes:
    return body.replace(b"acme/hello", b"acme/hallo") if "/log/entries" in path else body


def _checkpoint(path: str, body: bytes) -> bytes:
    if not path.endswith("/log/checkpoint"):
        return body
    name, size, root, *rest = body.decode().split("\n")
    other = base64.b64encode(bytes(32)).decode()
    return "\n".join([name, size, other if root != other else root, *rest]).encode()


@pytest.mark.parametrize("change", [_package, _index, _entries, _checkpoint])
def test_a_changed_byte_of_the_registry_is_not_kept(
    registry: Known, tmp_path: Path, change: Callable[[str, bytes], bytes]
) -> None:
    is_honest = False

    def rewrite(path: str, answer: httpx.Response) -> tuple[int, dict[str, str], bytes]:
        body = answer.content if is_honest or answer.status_code != 200 else change(path, answer.content)
        kept = {name: value for name, value in answer.headers.items() if name in {"etag", "content-type"}}
        return answer.status_code, kept, body

    web = WebServer()
    web.answers = Front(registry, rewrite)
    with web as front, RunningServer(tmp_path, "--outbound-allowed-host", front.host) as mirror:
        mirror.api("POST", "/registry/sources", json={"name": "corp", "url": front.url, "mirror": True})
        answers = {path: mirror.http.get(f"/mirrors/corp/{path}") for path in PATHS}
        assert answers["packages/acme/hello/1.0.0.zip"].status_code == 503, answers
        assert "'corp' cannot answer" in answers["packages/acme/hello/1.0.0.zip"].text
        packages = [path for path in (mirror.data_dir / "mirrored").glob("*/packages/*/*") if path.is_file()]
        assert not packages
        is_honest = True
        mirror.wait_for(lambda: _all_well(mirror))


PATHS = ("packages/acme/hello/1.0.0.zip", "index/acme/hello", "api/v1/log/checkpoint")


def _all_well(mirror: RunningServer) -> Any:
    return all(mirror.http.get(f"/mirrors/corp/{path}").status_code == 200 for path in PATHS)
