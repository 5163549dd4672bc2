"""What an agent can do with the answers of the tools, and what they cost it."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from support.commands import WORDS_ONLY
from support.mcp_host import Host
from support.publishing import Registry, skill_package
from support.servers import COMMAND, RunningServer, write_copies, write_skill

CHARACTERS_PER_TOKEN = 4
SCRIPT = "import sys\nprint('grain lines:', len(open(sys.argv[1]).read().splitlines()))\n"
GUIDE = "# Count the grain lines of zebrawood\n\n```sh\npython scripts/count_grain.py FILE\n```\n"
TASK = "count the grain lines of a zebrawood board"

Call = Callable[..., tuple[str, bool]]


def write_grain(skills: Path) -> Path:
    folder = write_skill(skills, "grain-counter", "Counts the grain lines of zebrawood boards.", GUIDE)
    (folder / "scripts").mkdir()
    (folder / "scripts/count_grain.py").write_text(SCRIPT)
    return folder


def run_shell(command: str, folder: Path, **env: str) -> str:
    """Run a command line as the shell tool of an agent does."""
    paths = os.pathsep.join((str(Path(COMMAND).parent), str(Path(sys.executable).parent), os.environ["PATH"]))
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
    whole = plain | WORDS_ONLY | {"PATH": paths, "XDG_CONFIG_HOME": str(folder / "config")} | env
    done = subprocess.run(command, shell=True, cwd=folder, env=whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def work(call: Call, project: Path, **env: str) -> str:
    """Do a task as an agent that knows nothing but what the tools say; return what the script of the skill prints."""
    found, _ = call("search_skills", query=TASK)
    best = re.search(r"^1\. \[.+?\] (\S+) \(", found, re.MULTILINE)
    assert best, found
    read, _ = call("get_skill", id=best[1])
    if install := re.search(r"install_skill\(id='(.+?)'\)", read):
        read += call("install_skill", id=install[1])[0]
    base = re.search(r"Base directory of the skill, on this machine: (.+?)\. ", read)
    if base is None:
        command = re.search(r"`(skill-registry install .+?)` in the project", read)
        assert command, read
        base = re.search(r" is in (.+)", run_shell(command[1], project, **env))
    assert base, read
    step = re.search(r"python (scripts/\S+) FILE", read)
    assert step, read
    board = project / "board.txt"
    board.write_text("line\n" * 7)
    return run_shell(f"python {project / base[1] / step[1]} {board}", project, **env)


def over_http(host: Host) -> Call:
    def call(tool: str, **arguments: Any) -> tuple[str, bool]:
        result = host.call(tool, **arguments)
        return str(result.content[0].text), result.is_error  # type: ignore[union-attr]

    return call


def over_standard_input(folder: Path, *args: str) -> Call:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "SKILL_"))}
    env = {**plain, "XDG_CONFIG_HOME": str(folder / "config"), **WORDS_ONLY}

    def call(tool: str, **arguments: Any) -> tuple[str, bool]:
        async def use() -> Any:
            server = StdioServerParameters(command=COMMAND, args=["mcp", *args], env=env, cwd=folder)
            async with Client(stdio_client(server)) as client:
                return await client.call_tool(tool, arguments)

        result = asyncio.run(use())
        return str(result.content[0].text), result.is_error

    return call


def test_an_agent_runs_the_script_of_an_installed_skill(tmp_path: Path) -> None:
    write_grain(tmp_path / "skills")
    project = tmp_path / "project"
    project.mkdir()
    assert work(over_standard_input(tmp_path), project) == "grain lines: 7\n"
    with RunningServer(tmp_path) as server:
        assert work(over_http(Host(server, "", {})), project) == "grain lines: 7\n"


def test_an_agent_installs_a_listed_skill_and_runs_its_script(tmp_path: Path) -> None:
    folder = write_grain(tmp_path / "elsewhere")
    project = tmp_path / "project"
    project.mkdir()
    with RunningServer(tmp_path) as server:
        source = {"name": "wood", "type": "local", "path": str(folder.parent)}
        server.api("POST", "/registry/sources", json=source).raise_for_status()
        call = over_http(Host(server, "", {}))
        read, _ = call("get_skill", id="wood/grain-counter")
        assert "python scripts/count_grain.py FILE" in read
        assert f"Base directory of the skill, on this machine: {folder}. " in read
        assert work(call, project) == "grain lines: 7\n"
        assert (server.skills_dir / "grain-counter/scripts/count_grain.py").is_file()
        refused, is_error = call("get_skill", id="wood/grain-counter", file="scripts/count_grain.py")
    assert (is_error, "install_skill" in refused) == (True, True)


def test_an_agent_gets_the_script_of_a_published_skill_from_its_registry(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with Registry(tmp_path / "registry") as registry:
        package = skill_package("grain-counter", body=GUIDE, files={"scripts/count_grain.py": SCRIPT.encode()})
        assert registry.finished(registry.publish(package))["status"] == "accepted"
        headers = registry.caller("reader", "user")
        key = headers["Authorization"].removeprefix("Bearer ")
        host = Host(registry, "acme/grain-counter", headers)
        assert work(over_http(host), project, SKILL_REGISTRY_CLIENT_API_KEY=key) == "grain lines: 7\n"
        assert host.text("get_skill", id=host.skill_id, file="scripts/count_grain.py") == SCRIPT


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder: Path = tmp_path_factory.mktemp("tools")
    for number in range(8):
        write_skill(folder / "skills", f"plane-{number}", f"Planes zebrawood boards. {'Very careful work. ' * 20}")
    write_skill(folder / "skills", "pdf-form-filling", "Fills the forms of PDF documents.")
    long = write_skill(folder / "skills", "long-reading", "Is long to read.", "")
    (long / "SKILL.md").write_text("---\nname: long-reading\ndescription: Is long to read.\n---\n" + LONG)
    (long / "table.csv").write_text("a,b\n")
    with RunningServer(folder) as server:
        yield Host(server, "plane-0", {})


LONG = "".join(f"Line {number} says café.\n" for number in range(5000))


def tokens(value: object) -> float:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return len(text) / CHARACTERS_PER_TOKEN


def test_the_definitions_of_the_tools_cost_at_most_600_tokens(host: Host) -> None:
    tools = host.ask("tools/list")["result"]["tools"]
    assert len(tools) == 3
    assert tokens(tools) <= 600


@pytest.mark.parametrize("budget", [100, 150, 300, 1000, 20_000])
def test_text_and_data_of_a_search_stay_within_max_tokens_together(host: Host, budget: int) -> None:
    result = host.call("search_skills", query="zebrawood boards", limit=8, max_tokens=budget)
    text = result.content[0].text  # type: ignore[union-attr]
    skills = result.structured_content["skills"]
    assert tokens(text) + tokens(result.structured_content) <= budget
    assert len(skills) >= 1
    assert all(f"{number}. [by words only] {skill['id']} (" in text for number, skill in enumerate(skills, 1))
    assert ("more did not fit into max_tokens" in text) is (len(skills) < 8)
    assert text.endswith("Read one with get_skill(id).")
    assert "skill-registry/search_id" in (result.meta or {})


def test_near_copies_share_a_place_and_are_named(tmp_path: Path) -> None:
    write_copies(tmp_path / "skills", *(f"backup-{number}" for number in range(6)))
    with RunningServer(tmp_path) as server:
        host = Host(server, "", {})
        found = host.call("search_skills", query="encrypted archive")
        (skill,) = found.structured_content["skills"]
        assert skill["id"] == "backup-0"
        assert skill["grouped"] == {"count": 5, "ids": ["backup-1", "backup-2", "backup-3"]}
        assert "And 5 like it: backup-1, backup-2, backup-3 and 2 more." in found.content[0].text  # type: ignore[union-attr]
        apart = host.call("search_skills", query="encrypted archive", limit=10, group=False)
        assert len(apart.structured_content["skills"]) == 6


def test_a_hit_says_whether_it_fits(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-form-filling", "Fill the form fields of PDF documents.")
    write_skill(tmp_path / "skills", "pdf-merging", "Merge several PDF documents into one.")
    for number, topic in enumerate(("sourdough bread", "chess openings", "garden roses", "tax law", "guitar chords")):
        write_skill(tmp_path / "skills", f"topic-{number}", f"Explains {topic} to beginners.")
    with RunningServer(tmp_path, "--embedding-provider", "local") as server:
        server.wait_for(lambda: server.status()["pending"] == 0)
        host = Host(server, "", {})
        result = host.call("search_skills", query="fill the fields of a pdf form")
        excluding = host.text("search_skills", query="a pdf document, without PDF-Merging")
    text = result.content[0].text  # type: ignore[union-attr]
    skills = {skill["id"]: skill["relevance"] for skill in result.structured_content["skills"]}
    assert text.startswith("1. [high] pdf-form-filling (1.0.0): Fill the form fields of PDF documents.\n")
    assert skills["pdf-form-filling"] == "high"
    assert "] pdf-form-filling (" in excluding.splitlines()[0]
    assert ("[medium: may not fit]" in text) is ("medium" in skills.values())


def test_a_name_that_an_id_cannot_have_is_said(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "表格清洗", "清洗表格，删除重复行。")
    write_skill(tmp_path / "skills", "table-cleanup", "表格 cleanup.")
    with RunningServer(tmp_path) as server:
        found = Host(server, "", {}).call("search_skills", query="表格")
    named, plain = sorted(found.structured_content["skills"], key=lambda skill: str(skill["id"]))
    text = found.content[0].text  # type: ignore[union-attr]
    assert (named["name"], "name" in plain) == ("表格清洗", False)
    assert f"] {named['id']} (表格清洗, 1.0.0): 清洗表格" in text
    assert "] table-cleanup (1.0.0): " in text


def test_a_long_skill_is_read_in_parts(host: Host) -> None:
    whole = (host.server.skills_dir / "long-reading/SKILL.md").read_text()
    parts, offset = "", 0
    while True:
        text = host.text("get_skill", id="long-reading", offset=offset, max_tokens=5000)
        assert len(text) <= 5000 * CHARACTERS_PER_TOKEN
        part, _, note = text.partition("\n\n[Characters ")
        parts += part
        assert note.startswith(f"{offset} to {len(parts)} of {len(whole)}.")
        assert ("table.csv (4 bytes)" in note) is (offset == 0)
        following = re.search(r"Read on with get_skill, offset=(\d+)\.", note)
        if following is None:
            break
        offset = int(following[1])
        assert offset == len(parts)
    assert parts == whole
    beyond = host.call("get_skill", id="long-reading", offset=len(whole))
    assert beyond.is_error
    assert f"must be below {len(whole)}" in beyond.content[0].text  # type: ignore[union-attr]


def test_an_unknown_id_or_version_is_answered_with_what_there_is(host: Host) -> None:
    for tool in ("get_skill", "install_skill"):
        unknown = host.call(tool, id="pdf-form")
        text = unknown.content[0].text  # type: ignore[union-attr]
        assert unknown.is_error
        assert text == "Skill 'pdf-form' not found. Similar: pdf-form-filling. search_skills finds the ids of skills."
    version = host.call("get_skill", id="plane-1", version="9.9.9").content[0].text  # type: ignore[union-attr]
    assert version == "Version '9.9.9' of skill 'plane-1' not found. It has 1.0.0."


def test_installing_what_is_here_says_so(host: Host) -> None:
    folder = host.server.skills_dir / "plane-2"
    assert host.text("install_skill", id="plane-2") == (
        f"plane-2 1.0.0 is already installed. Base directory of the skill, on this machine: {folder}. "
        "Read it with get_skill(id='plane-2')."
    )


def test_a_caller_elsewhere_is_told_no_path_but_how_to_get_the_files(host: Host) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    call["params"] = {"name": "get_skill", "arguments": {"id": "long-reading", "max_tokens": 500}}
    result = host.post(call, **{"X-Forwarded-For": "203.0.113.7"}).json()["result"]
    text = result["content"][0]["text"]
    assert str(host.server.skills_dir) not in text
    assert f"`skill-registry install long-reading --from {host.server.url}` in the project" in text


def test_an_agent_of_an_empty_catalog_is_told_where_its_folders_are(tmp_path: Path) -> None:
    text, is_error = over_standard_input(tmp_path)("search_skills", query="zebrawood boards")
    assert not is_error
    assert "No skill fits" not in text
    assert "the catalog has no skills: put folders with a SKILL.md into the skills directory" in text
    assert f"The skills directory is {tmp_path / 'skills'}, the data directory {tmp_path / '.skill-registry'}." in text
