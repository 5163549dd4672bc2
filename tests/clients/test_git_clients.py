"""Clients that clone the git view of a skill. A private registry gets its token from git's credential store."""

from collections.abc import Callable

import pytest

from clients.running import Box, files_below, installed
from clients.services import NAME, Service

pytestmark = pytest.mark.small

ADD = {
    "skills@1.5.18": ["add", "--yes", "--agent", "claude-code"],
    "skills@1.7.4": ["add", "--yes", "--agent", "claude-code"],
    "openskills@1.5.0": ["install", "--yes"],
}


@pytest.mark.parametrize("name", ADD)
def test_a_clone_is_the_skill_byte_for_byte(any_service: Service, box: Callable[[str], Box], name: str) -> None:
    client = box(name)
    if any_service.headers:
        client.store_for_git(any_service.url, any_service.token)
    command, *options = ADD[name]
    client.run(command, f"{any_service.url}/git/{any_service.id_of(NAME)}.git", *options)
    (folder,) = installed(client.project, NAME)
    kept_by_openskills = (".git/", ".openskills.json")  # the clone itself, and its origin
    files = {path: data for path, data in files_below(folder).items() if not path.startswith(kept_by_openskills)}
    assert files == any_service.files[NAME]
