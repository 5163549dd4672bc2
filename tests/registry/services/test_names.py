"""The skills that protocols leave out for their names: counted with reasons, in both profiles."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.config.settings import load_settings
from registry.services.container import Services
from registry.services.names import SkillNames
from support.publishing import Registry, skill_package
from support.servers import RunningServer, write_skill
from support.waiting import wait_until

UNTIDY = {
    "Data Wrangler": "name: Data Wrangler\n",  # the id is a slug of the folder's name
    "git_helper": "name: git_helper\n",
    "planes": "name: Planes\n",
    "no-name": "",
    "x--y": "name: x--y\n",
}
REASONS = {"id_not_allowed": 2, "name_differs": 3}


def write_untidy(skills: Path) -> None:
    """Write skills with names as people choose them, and one with a name of agentskills.io."""
    for folder, name in UNTIDY.items():
        (skills / folder).mkdir(parents=True)
        (skills / folder / "SKILL.md").write_text(f"---\n{name}description: Does things with care.\n---\n# Body\n")
    write_skill(skills, "tidy", "Tidies workshops.")


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    write_untidy(tmp_path / "skills")
    flags = {"skills_dir": str(tmp_path / "skills"), "data_dir": str(tmp_path / "data"), "embedding.provider": "none"}
    opened = Services(load_settings(flags, {}))
    opened.scan()
    yield opened
    opened.close()


def left_out(server: RunningServer) -> dict[str, Any]:
    """Return the counts of the status."""
    counts: dict[str, Any] = server.http.get("/api/v1/status").json()["data"]["protocols"]["left_out"]
    return counts


def test_status_counts_what_the_protocols_do_not_show(tmp_path: Path) -> None:
    write_untidy(tmp_path / "skills")
    with RunningServer(tmp_path) as server:
        wait_until(lambda: server.http.get("/api/v1/status").json()["data"]["skills"] == len(UNTIDY) + 1)
        assert left_out(server) == {"count": 5, "reasons": REASONS, "unchecked": 0}
        shown = {"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {}}
        headers = {"MCP-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream"}
        resources = server.http.post("/mcp", json=shown, headers=headers).json()["result"]["resources"]
        assert {resource["uri"] for resource in resources} == {"skill://tidy/SKILL.md"}
        found = server.http.post("/api/v1/search", json={"query": "data wrangler", "mode": "keyword"}).json()["data"]
        assert found["skills"][0]["skill"]["name"] == "Data Wrangler"


def test_status_of_a_registry_counts_published_skills(tmp_path: Path) -> None:
    with Registry(tmp_path) as registry:
        for name in ("planes", "acme/gouges"):  # the scope may be part of the name
            package = skill_package(name)
            assert registry.finished(registry.publish(package))["status"] == "accepted"
        assert left_out(registry) == {"count": 1, "reasons": {"name_differs": 1}, "unchecked": 0}


def test_the_count_follows_the_catalog(services: Services, tmp_path: Path) -> None:
    assert services.names.left_out().reasons == REASONS
    planes = tmp_path / "skills/planes/SKILL.md"
    planes.write_text(planes.read_text().replace("name: Planes", "name: planes"))
    services.scan()
    assert services.names.left_out().reasons == {"id_not_allowed": 2, "name_differs": 2}
    (tmp_path / "skills/git_helper/SKILL.md").unlink()
    services.scan()
    assert services.names.left_out().reasons == {"id_not_allowed": 1, "name_differs": 2}


def test_the_count_is_kept_until_the_catalog_changes(services: Services) -> None:
    first = services.names.left_out()
    assert services.names.left_out() is first
    with services.database.write() as transaction:
        transaction.next_revision()
    assert services.names.left_out() is not first


def test_a_large_catalog_takes_several_counts(services: Services) -> None:
    names = SkillNames(services.documents, services.skill_files, services.skill_backends, read_at_once=4)
    assert [names.left_out().unchecked for _ in range(2)] == [2, 0]
    assert names.left_out().reasons == REASONS
