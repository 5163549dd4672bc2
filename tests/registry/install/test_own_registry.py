"""Installing what this service has published, in the service itself."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.publishing import Registry, skill_package


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry")) as running:
        for version in ("1.0.0", "1.2.0", "1.10.0", "2.0.0"):
            running.finished(running.publish(skill_package("hello", version, f"# Version {version}\n")))
        yield running


@pytest.fixture(autouse=True)
def _uninstalled(registry: Registry) -> Iterator[None]:
    yield
    registry.http.delete("/api/v1/skills/hello", headers=registry.caller())


def install(registry: Registry, **body: Any) -> httpx.Response:
    return registry.http.post("/api/v1/skills", json=body, headers=registry.caller())


def text(registry: Registry) -> str:
    return (registry.skills_dir / "hello" / "SKILL.md").read_text()


def test_a_published_skill_is_installed_by_its_source(registry: Registry) -> None:
    answer = install(registry, skill_id="acme/hello", source_name="registry")
    assert (answer.status_code, answer.json()["data"]["id"]) == (201, "hello"), answer.text
    assert answer.json()["data"]["version"] == "2.0.0"
    assert "# Version 2.0.0" in text(registry)
    again = install(registry, skill_id="acme/hello", source_name="registry")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "CONFLICT")


@pytest.mark.parametrize(
    ("origin", "version"),
    [
        ("acme/hello", "2.0.0"),
        ("acme/hello@1.2.0", "1.2.0"),
        ("acme/hello@^1.0", "1.10.0"),
        ("acme/hello@~1.2", "1.2.0"),
    ],
)
def test_an_origin_names_a_version_or_a_range(registry: Registry, origin: str, version: str) -> None:
    answer = install(registry, origin=origin)
    assert (answer.status_code, answer.json()["data"]["version"]) == (201, version), answer.text
    assert f"# Version {version}" in text(registry)


@pytest.mark.parametrize("origin", ["acme/hello@^3", "acme/hello@1.2.1", "acme/other"])
def test_a_version_that_does_not_exist_is_not_found(registry: Registry, origin: str) -> None:
    answer = install(registry, origin=origin)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "SKILL_NOT_FOUND")
    assert not (registry.skills_dir / "hello").exists()


def test_the_list_of_the_source_shows_the_installed_skill_once(registry: Registry) -> None:
    def cards(source: str) -> list[tuple[str, bool]]:
        skills = registry.get(f"/api/registry/sources/{source}/skills").json()["data"]["skills"]
        return [(skill["id"], skill["installed"]) for skill in skills]

    assert (cards("registry"), cards("local")) == ([("acme/hello", False)], [])
    install(registry, origin="acme/hello")
    assert (cards("registry"), cards("local")) == ([("hello", True)], [])


def test_an_upgrade_stays_in_the_range_of_the_install(registry: Registry) -> None:
    install(registry, origin="acme/hello@1.0.0")
    assert upgraded(registry)["outcome"] == "immutable"
    assert upgraded(registry, version="^1")["resolved_version"] == "1.10.0"
    registry.http.delete("/api/v1/skills/hello", headers=registry.caller())
    install(registry, origin="acme/hello@~1.2")
    assert upgraded(registry)["outcome"] == "up_to_date"
    assert upgraded(registry, version="2.0.0")["resolved_version"] == "2.0.0"


def upgraded(registry: Registry, **body: Any) -> dict[str, Any]:
    answer = registry.http.post("/api/v1/skills/upgrade", json={"skill_id": "hello", **body}, headers=registry.caller())
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()["data"]["results"][0]
    return result


def test_yanked_versions_are_installed_by_exact_number_and_revoked_ones_never(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        for version in ("1.0.0", "1.1.0", "1.2.0"):
            registry.finished(registry.publish(skill_package("hello", version)))
        admin = registry.caller("root", "admin")
        for version, action in (("1.2.0", "yank"), ("1.1.0", "revoke")):
            path = f"/api/v1/registry/skills/acme/hello/{version}/{action}"
            assert registry.http.post(path, headers=admin).status_code == 200
        assert install(registry, origin="acme/hello").json()["data"]["version"] == "1.0.0"
        registry.http.delete("/api/v1/skills/hello", headers=registry.caller())
        assert install(registry, origin="acme/hello@1.2.0").status_code == 201
        registry.http.delete("/api/v1/skills/hello", headers=registry.caller())
        refused = install(registry, origin="acme/hello@1.1.0")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "CONFLICT")
        assert "revoked" in refused.json()["error"]["message"]
        assert not (registry.skills_dir / "hello").exists()


def test_a_record_has_no_files_to_install(registry: Registry) -> None:
    body = {"id": "noted", "name": "Noted", "description": "Only a record here.", "version": "1.0.0"}
    assert registry.http.post("/api/code/v1/skills", json=body, headers=registry.caller()).status_code == 201
    answer = install(registry, skill_id="noted", source_name="registry")
    assert answer.status_code == 409
    assert "record without a package" in answer.json()["error"]["message"]


def test_a_copy_is_changed_by_its_author_only(registry: Registry) -> None:
    """The copy has the name that agents trust."""
    registry.finished(registry.publish(skill_package("payroll")))
    bob = registry.caller("beta/bob")
    order = {"skill_id": "acme/payroll", "source_name": "registry"}
    assert registry.api("POST", "/skills", json=order, headers=bob).status_code == 201
    changed = registry.api("PUT", "/skills/payroll", json={"content": "# Other\n"}, headers=bob)
    assert (changed.status_code, changed.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert registry.api("PUT", "/skills/payroll", json={"enabled": False}, headers=bob).status_code == 200
    assert registry.api("PUT", "/skills/payroll", json={"tags": ["pay"]}, headers=registry.caller()).status_code == 200
    root = registry.caller("root", "admin")
    assert registry.api("PUT", "/skills/payroll", json={"content": "# Mended\n"}, headers=root).status_code == 200
