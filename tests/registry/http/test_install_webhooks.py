"""Webhooks of installing: hooks are told how the check of a package ended that was installed or upgraded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.commands import Done
from support.servers import RunningServer
from support.web_server import WebServer, reply
from support.zips import plain_zip


def package(version: str = "1.0.0", **files: bytes) -> bytes:
    text = f"---\nname: pdf\ndescription: Fills the fields of forms.\nversion: {version}\n---\n# PDF\n"
    return plain_zip({"SKILL.md": text.encode(), **files})


class World(NamedTuple):
    """A service of the local profile without a registry, and the web its packages and its hooks are on."""

    server: RunningServer
    web: WebServer
    env: dict[str, str]

    def install(self, data: bytes) -> int:
        self.web.answers["/pdf.zip"] = reply(data)
        body = {"origin": {"type": "zip", "url": f"{self.web.url}/pdf.zip"}}
        return self.server.api("POST", "/skills", json=body).status_code

    def upgrade(self, data: bytes, **body: Any) -> str:
        self.web.answers["/pdf.zip"] = reply(data)
        answer = self.server.api("POST", "/skills/upgrade", json={"skill_id": "pdf", **body})
        return str(answer.json()["data"]["results"][0]["outcome"])

    def told(self, count: int) -> list[dict[str, Any]]:
        self.server.wait_for(lambda: len(self.web.posted) >= count)
        return [json.loads(body) for _, body in self.web.posted]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with WebServer({"/passed": reply(b""), "/failed": reply(b"")}) as web:
        env = {
            "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": web.host,
            "SKILL_REGISTRY_WEBHOOKS_VALIDATION_PASSED_URL": f"{web.url}/passed",
            "SKILL_REGISTRY_WEBHOOKS_VALIDATION_FAILED_URL": f"{web.url}/failed",
        }
        with RunningServer(tmp_path, env=env) as server:
            yield World(server, web, env)


def test_an_installed_package_is_told_of_as_passed(world: World) -> None:
    assert world.install(package()) == 201
    (told,) = world.told(1)
    assert (told["event"], told["skill_id"], told["version"]) == ("all_checks_passed", "pdf", "1.0.0")
    assert told["checksum"] == world.server.api("GET", "/skills/pdf").json()["data"]["digest"]


def test_every_check_of_a_refused_package_is_told_of_by_itself(world: World) -> None:
    assert [world.install(package(tool=b"\x7fELF")) for _ in range(2)] == [400, 400]
    told = world.told(2)
    assert [(one["event"], one["findings"][0]["file"]) for one in told] == [("security_issue", "tool")] * 2
    assert len({one["id"] for one in told}) == len({one["job_id"] for one in told}) == 2
    assert {headers["X-Skill-Delivery"] for headers, _ in world.web.posted} == {one["id"] for one in told}


def test_an_upgrade_is_an_installation_and_looking_for_one_is_none(world: World) -> None:
    world.install(package())
    assert world.upgrade(package("1.1.0"), check=True) == "would_update"
    assert world.upgrade(package("1.1.0")) == "updated"
    assert world.upgrade(package("1.2.0", tool=b"\x7fELF")) == "error"
    told = {(one["event"], one["skill_id"], one["version"]) for one in world.told(3)}
    passed = {("all_checks_passed", "pdf", version) for version in ("1.0.0", "1.1.0")}
    assert told == passed | {("security_issue", "pdf", None)}


def test_what_cannot_be_installed_for_other_reasons_is_not_told_of(world: World) -> None:
    assert [world.install(package()), world.install(package())] == [201, 409]
    assert [one["skill_id"] for one in world.told(1)] == ["pdf"]


def test_the_command_tells_the_hooks_itself_where_no_service_runs(world: World, tmp_path: Path) -> None:
    world.web.answers["/pdf.zip"] = reply(package())
    (tmp_path / "own").mkdir()
    done = Done(tmp_path / "own", "install", f"{world.web.url}/pdf.zip", "--data-dir", "data", **world.env)
    assert done.code == 0, done.error
    assert [(one["event"], one["skill_id"]) for one in world.told(1)] == [("all_checks_passed", "pdf")]
