"""Searches for the address of a source: its skills come first, before what has the words of the address."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.git_server import GitServer
from support.servers import RunningServer, write_skill

DECOYS = ["skills-catalog", "hub-skills", "repo-tools"]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, str]]:
    folder: Path = tmp_path_factory.mktemp("addresses")
    with GitServer(folder / "git") as git:
        url = git.url("hub/skills")
        git.repository("hub/skills").commit(
            {
                f"{name}/SKILL.md": f"---\nname: {name}\ndescription: {text}\n---\n# {name}\n"
                for name, text in {"pdf": "Fills in forms.", "csv": "Reads tables.", "wiki": "Writes pages."}.items()
            }
        )
        server = RunningServer(folder, "--outbound-allowed-host", git.host)
        for name in DECOYS:
            write_skill(server.skills_dir, name, f"All about hub skills, skills of {url} and the hub/skills repo.")
        write_skill(server.skills_dir, "pdf", "Fills in forms, from another author.")
        with server:
            added = server.api("POST", "/registry/sources", json={"name": "vendor", "type": "git", "url": url})
            assert added.status_code == 201, added.text
            server.wait_for(lambda: "vendor/pdf" in server.found("forms"))
            yield server, url


def test_the_skills_of_an_address_come_first(hub: tuple[RunningServer, str]) -> None:
    server, url = hub
    for query in (url, f"{url}/", url.upper().replace("HTTP", "http"), f"npx skills add {url}", "@vendor", "vendor/"):
        assert {*server.found(query)[:3]} == {"vendor/pdf", "vendor/csv", "vendor/wiki"}, query


def test_a_skill_at_an_address_comes_before_others_of_its_name(hub: tuple[RunningServer, str]) -> None:
    server, url = hub
    for query in (f"{url}/tree/main/pdf", f"npx skills add {url} --skill pdf"):
        assert server.found(query)[0] == "vendor/pdf", query
    assert server.found("vendor/csv")[0] == "vendor/csv"


def test_a_query_that_goes_on_after_an_address_is_words(hub: tuple[RunningServer, str]) -> None:
    server, url = hub
    assert server.found(f"all about the hub skills of {url}")[0] in DECOYS


def test_an_option_names_a_skill_also_of_an_unknown_source(hub: tuple[RunningServer, str]) -> None:
    server, _ = hub
    assert server.found("npx skills add hub/skills-catalog --skill csv")[0] == "vendor/csv"
