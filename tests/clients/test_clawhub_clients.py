"""`clawhub` of two versions: find, read, install, update, publish, delete."""

from itertools import count

import pytest

from clients.running import Box, files_below, installed
from clients.services import NAME, RIVALS, Service, skill_files, write_files
from support.waiting import wait_until

pytestmark = pytest.mark.small

VERSIONS = ["clawhub@0.20.0", "clawhub@0.23.3"]
NOTES = ".clawhub"
"""The folder in which the client writes down what it has installed."""

NUMBERS = count(1)


class ClawHub:
    """The client, logged in at a service."""

    def __init__(self, client: Box, service: Service) -> None:
        self.client = client
        self.service = service
        self.run("login", "--token", service.publisher_token)

    def run(self, *arguments: str, code: int | None = 0) -> str:
        """Run a command and return what it prints."""
        self.client.run(*arguments, env={"CLAWHUB_REGISTRY": f"{self.service.url}/clawhub"}, code=code)
        return self.client.printed

    def publish(self, name: str, files: dict[str, bytes]) -> None:
        """Publish a folder with these files."""
        folder = self.client.home / name
        write_files(folder, files)
        self.run("publish", str(folder), "--slug", name, "--version", "1.0.0")

    def found(self, query: str) -> list[str]:
        """Return the names that `search` shows, best first."""
        lines = (line.split() for line in self.run("search", query).splitlines())
        return [words[0] for words in lines if f"@{self.service.owner}" in words]

    def files(self, name: str) -> dict[str, bytes]:
        """Return the files of the skill that is installed under a name."""
        (folder,) = installed(self.client.project, name)
        return {path: data for path, data in files_below(folder).items() if not path.startswith(f"{NOTES}/")}


@pytest.fixture(scope="module", params=VERSIONS)
def clawhub(request: pytest.FixtureRequest, any_service: Service, tmp_path_factory: pytest.TempPathFactory) -> ClawHub:
    client = Box(request.param, tmp_path_factory.mktemp("clawhub") / "home")
    assert client.client.is_small
    return ClawHub(client, any_service)


@pytest.fixture
def name() -> str:
    """A name that no other skill has."""
    return f"adzes-{next(NUMBERS)}"


def test_search_shows_the_exact_name_first(clawhub: ClawHub) -> None:
    found = clawhub.found(NAME)
    assert found[0] == NAME
    assert set(found) == {NAME, *RIVALS}


def test_explore_and_inspect_show_what_there_is(clawhub: ClawHub) -> None:
    explored = clawhub.run("explore")
    assert all(name in explored for name in (NAME, *RIVALS))
    assert "No malware scanner ran." in clawhub.run("inspect", NAME)
    shown = clawhub.run("inspect", NAME, "--versions", "--files").partition("Versions:")[2]
    assert all(part in shown for part in ("1.0.0", *clawhub.service.files[NAME]))
    assert "# Grain: längs" in clawhub.run("inspect", NAME, "--file", "references/grain.md")


def test_installed_files_are_those_of_the_service(clawhub: ClawHub) -> None:
    clawhub.run("install", NAME)
    assert clawhub.files(NAME) == clawhub.service.files[NAME]
    assert NAME in clawhub.run("list")


def test_update_recognises_files_and_installs_what_has_changed(clawhub: ClawHub, name: str) -> None:
    clawhub.service.publish(name)
    clawhub.run("install", name)
    (folder,) = installed(clawhub.client.project, name)
    notes = (folder / NOTES).rename(clawhub.client.home / f"notes-of-{name}")
    assert "up to date" in clawhub.run("update", name)
    notes.rename(folder / NOTES)
    clawhub.service.publish(name, "1.1.0")
    clawhub.run("update", name)
    assert clawhub.files(name) == clawhub.service.files[name] == skill_files(name, "1.1.0")


def test_whoami_names_the_owner(clawhub: ClawHub) -> None:
    assert clawhub.service.owner in clawhub.run("whoami")


def test_what_is_published_is_found_and_installed_until_it_is_deleted(clawhub: ClawHub, name: str) -> None:
    files = skill_files(name, about=f"Whets {name}.")
    clawhub.publish(name, files)
    wait_until(lambda: clawhub.found(f"whets {name}")[:1] == [name])
    clawhub.run("install", name)
    left_out = {"assets/knot.png"} if clawhub.client.client.version == "0.20.0" else set()
    assert clawhub.files(name) == {path: data for path, data in files.items() if path not in left_out}
    clawhub.run("delete", name, "--yes")
    assert name not in clawhub.found(name)
    clawhub.run("undelete", name, "--yes")
    wait_until(lambda: name in clawhub.found(name))


def test_the_address_is_found_at_the_site(clawhub: ClawHub) -> None:
    clawhub.client.run("search", NAME, env={"CLAWHUB_SITE": clawhub.service.url})
    assert f"@{clawhub.service.owner}" in clawhub.client.printed
