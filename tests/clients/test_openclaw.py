"""`openclaw`, an agent whose skills come by ClawHub's protocol: search, install, verify, update."""

import json
from collections.abc import Callable

import pytest

from clients.running import Box, files_below, installed
from clients.services import NAME, RIVALS, Service
from support.waiting import wait_until

NOTES = ".clawhub/"
"""The folder in which the agent writes down what it has installed."""


class OpenClaw:
    """The agent with the address of a service, and its token where one is asked for."""

    def __init__(self, client: Box, service: Service) -> None:
        self.client = client
        self.service = service
        self.env = {"OPENCLAW_CLAWHUB_URL": f"{service.url}/clawhub"}
        if service.headers:
            self.env["CLAWHUB_TOKEN"] = service.token

    def run(self, *arguments: str) -> str:
        """Run a command and return what it prints."""
        self.client.run("skills", *arguments, env=self.env)
        return self.client.printed

    def found(self, query: str) -> list[str]:
        """Return what `skills search` finds, best first, as `skills install` takes it."""
        answer = json.loads(self.client.run("skills", "search", query, "--json", env=self.env))
        return [str(one["installRef"]) for one in answer["results"]]

    def reference(self, name: str) -> str:
        return f"@{self.service.owner}/{name}"

    def files(self, name: str) -> dict[str, bytes]:
        """Return the files of the skill that is installed under a name."""
        (folder,) = installed(self.client.home / ".openclaw", name)
        return {path: data for path, data in files_below(folder).items() if not path.startswith(NOTES)}


@pytest.fixture
def openclaw(any_service: Service, box: Callable[[str], Box]) -> OpenClaw:
    return OpenClaw(box("openclaw@2026.9.6"), any_service)


def test_search_shows_the_exact_name_first(openclaw: OpenClaw) -> None:
    found = openclaw.found(NAME)
    assert found[0] == openclaw.reference(NAME)
    assert set(found) == {openclaw.reference(name) for name in (NAME, *RIVALS)}


def test_what_is_published_is_found_installed_verified_and_updated(openclaw: OpenClaw) -> None:
    name = "found-by-openclaw"
    reference = openclaw.reference(name)
    openclaw.service.publish(name, about="Whets adzes.")
    wait_until(lambda: openclaw.found("whets adzes")[:1] == [reference])
    assert "No malware" in openclaw.run("install", reference)
    assert openclaw.files(name) == openclaw.service.files[name]
    assert '"decision": "pass"' in openclaw.run("verify", reference)
    openclaw.service.publish(name, "1.1.0", about="Whets adzes.")
    openclaw.run("update", "--all")
    assert openclaw.files(name) == openclaw.service.files[name]
    assert b"version: 1.1.0" in openclaw.files(name)["SKILL.md"]
