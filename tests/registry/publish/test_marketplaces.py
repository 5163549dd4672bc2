"""The published skills as marketplace documents, which other services and clients install from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.publishing import Registry, skill_package
from support.servers import RunningServer

MARKETPLACE = "/api/v1/registry/sources/registry/marketplace"
RECORD = {"id": "a-record", "name": "A record", "description": "Has no package to install.", "version": "1.0.0"}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry that anybody may read."""
    with Registry(tmp_path_factory.mktemp("registry"), "--auth-anonymous-read") as running:
        publish(running, "lathe")
        assert running.http.post("/api/skills", json=RECORD, headers=running.caller()).status_code == 201
        yield running


def publish(registry: Registry, name: str, version: str = "1.0.0") -> dict[str, Any]:
    job = registry.finished(registry.publish(skill_package(name, version)))
    assert job["status"] == "accepted", job
    return job


def listed(registry: Registry) -> dict[str, Any]:
    skills = registry.http.get(MARKETPLACE).json()["data"]["skills"]
    return {skill["id"]: skill["download_url"] for skill in skills}


def plugins(registry: Registry) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = registry.get(f"{MARKETPLACE}?format=claude").json()["plugins"]
    return found


def test_a_published_skill_has_a_package_and_a_record_has_none(registry: Registry) -> None:
    assert listed(registry) == {"acme/lathe": "/packages/acme/lathe/1.0.0.zip", "a-record": None}


def test_a_document_names_the_current_version_of_what_is_listed(registry: Registry) -> None:
    for version in ("1.0.0", "1.1.0"):
        publish(registry, "moving", version)
    assert listed(registry)["acme/moving"] == "/packages/acme/moving/1.1.0.zip"
    for version in ("1.1.0", "1.0.0"):
        yank = f"/api/v1/registry/skills/acme/moving/{version}/yank"
        assert registry.http.post(yank, headers=registry.caller()).status_code == 200
    assert "acme/moving" not in listed(registry)
    publish(registry, "disabled")
    disable = registry.http.put("/api/skills/acme/disabled", json={"enabled": False}, headers=registry.caller())
    assert (disable.status_code, "acme/disabled" in listed(registry)) == (200, False)


def test_claude_code_gets_archives_that_it_can_check(tmp_path: Path) -> None:
    url = "https://skills.example.org"
    with Registry(tmp_path, "--public-url", url) as registry:
        job = publish(registry, "lathe")
        registry.http.post("/api/skills", json=RECORD, headers=registry.caller()).raise_for_status()
        (plugin,) = plugins(registry)
    digest = job["checksum"].removeprefix("sha256:")
    assert (plugin["name"], plugin["version"]) == ("acme-lathe", "1.0.0")
    assert plugin["source"] == {"source": "archive", "url": f"{url}/packages/acme/lathe/1.0.0.zip", "sha256": digest}


def test_claude_code_is_told_of_no_archive_without_https(registry: Registry) -> None:
    assert plugins(registry) == []


def test_another_service_installs_from_the_document(registry: Registry, tmp_path: Path) -> None:
    with RunningServer(tmp_path, "--outbound-allowed-host", "127.0.0.1") as other:
        body = {"name": "market", "type": "http", "url": f"{registry.url}{MARKETPLACE}"}
        added = other.api("POST", "/registry/sources", json=body).json()["data"]
        assert (added["error"], added["warnings"]) == (None, [])
        request = {"skill_id": "acme/lathe", "source_name": "market"}
        installed = other.api("POST", "/skills", json=request)
        assert installed.status_code == 201, installed.text
        assert (
            other.api("GET", "/skills/lathe/files/SKILL.md").content
            == registry.get("/api/v1/skills/acme/lathe/files/SKILL.md").content
        )
        refused = other.api("POST", "/skills", json={"skill_id": "a-record", "source_name": "market"})
        assert refused.status_code == 409
