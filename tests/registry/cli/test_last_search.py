"""A server learns which result of a search was installed, from the command too."""

import json
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from support.commands import Done
from support.publishing import Registry
from support.servers import RunningServer, bearer, write_skill

QUERY = "turn scanned paper into text"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry"), "--auth-issuer", "closed") as running:
        folder = running.data_dir
        added = ("users", "add", "acme/ann", "--role", "manager", "--password-stdin")
        Done(folder, *added, "--data-dir", str(folder), stdin="correct horse\n")
        skill = write_skill(folder.parent / "written", "ocr", "Turns scanned paper into text")
        flags = ("--server", running.url, "--username", "acme/ann", "--password-stdin")
        assert Done(folder, "login", *flags, stdin="correct horse\n").code == 0
        assert Done(folder, "publish", str(skill)).code == 0
        added = ("users", "add", "umbrella/eve", "--role", "user", "--password-stdin")
        Done(folder, *added, "--data-dir", str(folder), stdin="correct horse\n")
        yield running


@pytest.fixture
def publisher(registry: Registry, tmp_path: Path) -> dict[str, str]:
    """The header of the publisher. A user of another scope is logged in in `tmp_path`, who has made no choice yet."""
    flags = ("--server", registry.url, "--username", "umbrella/eve", "--password-stdin")
    assert Done(tmp_path, "login", *flags, stdin="correct horse\n").code == 0
    reader, owner = (
        bearer(json.loads((folder / "config/skill-registry/logins.json").read_bytes())[registry.url]["token"])
        for folder in (tmp_path, registry.data_dir)
    )
    registry.http.delete("/api/v1/search/feedback/own", headers=reader).raise_for_status()
    return owner


def choices(registry: Registry, publisher: dict[str, str]) -> list[tuple[str, str, str]]:
    answer = registry.http.get("/api/v1/search/feedback?skill_id=acme/ocr", headers=publisher)
    return [(one["skill_id"], one["query"], one["outcome"]) for one in answer.json()["data"]]


def install(folder: Path, *args: str, **env: str) -> Any:
    flags = ("--skills-dir", str(folder / "skills"), "--data-dir", str(folder / "data"), "--json")
    done = Done(folder, "install", *args, *flags, **env)
    assert done.code == 0, done.error + done.out
    return done.json


OFF: Mapping[str, str] = {"SKILL_REGISTRY_CLIENT_FEEDBACK": "false"}


def test_the_registry_of_the_search_is_told(registry: Registry, publisher: dict[str, str], tmp_path: Path) -> None:
    assert "acme/ocr" in Done(tmp_path, "search", QUERY).out
    install(tmp_path, "acme/ocr@1.0.0")
    assert choices(registry, publisher) == [("acme/ocr", QUERY, "installed")]
    kept = tmp_path / "config" / "skill-registry" / "searches.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.parametrize("silent", ["search", "install"])
def test_one_setting_keeps_the_command_silent(
    registry: Registry, publisher: dict[str, str], tmp_path: Path, silent: str
) -> None:
    assert "acme/ocr" in Done(tmp_path, "search", QUERY, **(OFF if silent == "search" else {})).out
    install(tmp_path, "acme/ocr", **(OFF if silent == "install" else {}))
    assert choices(registry, publisher) == []


def test_what_the_search_has_not_shown_is_not_told(
    registry: Registry, publisher: dict[str, str], tmp_path: Path
) -> None:
    assert Done(tmp_path, "search", "nothing of the kind", "--tag", "absent").code == 3
    install(tmp_path, "acme/ocr")
    assert choices(registry, publisher) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"http://x": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_cannot_be_read_is_no_fault(
    registry: Registry, publisher: dict[str, str], tmp_path: Path, content: bytes
) -> None:
    kept = tmp_path / "config" / "skill-registry" / "searches.json"
    kept.write_bytes(content)
    install(tmp_path, "acme/ocr")
    assert Done(tmp_path, "search", QUERY).code == 0
    assert choices(registry, publisher) == []


def test_a_server_that_has_gone_is_no_fault(tmp_path: Path) -> None:
    written = write_skill(tmp_path / "written", "paper-plane", "Folds paper planes")
    with RunningServer(tmp_path / "service") as server:
        assert server.api("POST", "/skills", json={"origin": str(written)}).status_code == 201
        found = Done(tmp_path, "search", "fold paper", "--server", server.url, "--json").json
        assert found["skills"][0]["skill"]["id"] == "paper-plane"
    install(tmp_path, str(written), SKILL_REGISTRY_SERVER=server.url)


def test_a_server_that_installs_is_told(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    write_skill(shelf, "paper-plane", "Folds paper planes")
    with RunningServer(tmp_path / "service") as server:
        source = {"name": "shelf", "type": "local", "path": str(shelf)}
        assert server.api("POST", "/registry/sources", json=source).status_code == 201
        server.wait_for(lambda: server.found("fold paper"))
        (listed,) = server.found("fold paper")
        assert listed in Done(tmp_path, "search", "fold paper", "--server", server.url).out
        assert Done(tmp_path, "install", listed, "--server", server.url).code == 0
        told = server.api("GET", "/search/feedback").json()["data"]
        assert [(one["query"], one["outcome"]) for one in told] == [("fold paper", "installed")]
