"""`npx skills` of two versions: find, add, use, update."""

from collections.abc import Callable

import pytest

from clients.running import Box, files_below, installed
from clients.services import NAME, RIVALS, Service
from support.waiting import wait_until

pytestmark = pytest.mark.small

VERSIONS = ["skills@1.5.18", "skills@1.7.4"]


def found(box: Box, service: Service, query: str) -> list[str]:
    """Return the sources that `find` shows, best first."""
    printed = box.run("find", query, env={"SKILLS_API_URL": f"{service.url}/find"})
    words = (word for line in printed.splitlines() for word in line.split())
    return [word[word.index(service.url) :].split("@")[0] for word in words if f"{service.url}/s/" in word]


@pytest.mark.parametrize("version", VERSIONS)
def test_find_shows_what_add_installs_with_the_exact_name_first(
    open_service: Service, box: Callable[[str], Box], version: str
) -> None:
    client = box(version)
    sources = found(client, open_service, NAME)
    assert sources[0] == f"{open_service.url}/s/{open_service.id_of(NAME)}"
    assert len(sources) == 1 + len(RIVALS)
    client.run("add", sources[0], "--yes", "--agent", "claude-code")
    (folder,) = installed(client.home, NAME)
    assert files_below(folder) == open_service.files[NAME]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_published_is_found_and_used(open_service: Service, box: Callable[[str], Box], version: str) -> None:
    client, name = box(version), f"used-by-{version[-1]}"
    open_service.publish(name, about="Whets adzes.")
    source = f"{open_service.url}/s/{open_service.id_of(name)}"
    wait_until(lambda: source in found(client, open_service, "whets adzes"))
    assert "The state 1.0.0, in two lines." in client.run("use", source)
    (folder,) = installed(client.home / "tmp", name)
    assert files_below(folder) == open_service.files[name]


def test_update_installs_what_has_changed(open_service: Service, box: Callable[[str], Box]) -> None:
    client, name = box("skills@1.7.4"), "changed"
    open_service.publish(name)
    client.run("add", f"{open_service.url}/s/{open_service.id_of(name)}", "--yes", "--agent", "claude-code")
    (folder,) = installed(client.home, name)
    open_service.publish(name, "1.1.0")
    client.run("update", "--yes")
    assert files_below(folder) == open_service.files[name]
    assert b"version: 1.1.0" in open_service.files[name]["SKILL.md"]


def test_version_1_5_says_that_it_cannot_update(open_service: Service, box: Callable[[str], Box]) -> None:
    client = box("skills@1.5.18")
    client.run("add", f"{open_service.url}/s/{open_service.id_of(NAME)}", "--yes", "--agent", "claude-code")
    assert "cannot be updated automatically" in client.run("update", "--yes")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_skill_about_the_registry_is_installed(
    open_service: Service, box: Callable[[str], Box], version: str
) -> None:
    client = box(version)
    client.run("add", f"{open_service.url}/s/skill-registry", "--yes", "--agent", "claude-code")
    (folder,) = installed(client.home, "skill-registry")
    assert open_service.url in (folder / "SKILL.md").read_text()
