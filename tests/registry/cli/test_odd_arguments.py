"""Arguments that lead nowhere end in one line that says so."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import WORDS_ONLY, Done
from support.servers import COMMAND, RunningServer, write_skill


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("odd")
    write_skill(folder / "skills", "csv-cleanup", "Cleans messy tables of numbers.")
    with RunningServer(folder) as running:
        yield running


@pytest.mark.parametrize(
    "skill", ["../status", "", ".", "..", "../project", "csv-cleanup/files", "csv-cleanup/content"]
)
def test_an_id_that_leads_to_another_route_is_not_found(server: RunningServer, skill: str) -> None:
    Done(server.data_dir, "show", skill, "--server", server.url).complains(1, f"'{skill}'", "not found")


@pytest.mark.parametrize("command", ["reindex", "uninstall"])
@pytest.mark.parametrize("skill", [".", ".."])
def test_nor_does_another_command_reach_it(server: RunningServer, command: str, skill: str) -> None:
    done = Done(server.data_dir, command, skill, "--server", server.url)
    assert done.code == 1
    assert "not found" in done.error + done.out


def test_what_stands_where_the_skills_belong_is_named(tmp_path: Path) -> None:
    write_skill(tmp_path / "own", "tea", "Brews tea.")
    place = tmp_path / "skills"
    place.symlink_to("nowhere")
    Done(tmp_path, "install", "./own/tea").complains(1, str(place), "is a link to nowhere", "make that folder")
    place.unlink()
    place.write_text("")
    Done(tmp_path, "install", "./own/tea").complains(1, str(place), "is a file, where a folder is needed")


@pytest.mark.parametrize("host", ["a..b", f"{'a' * 64}.example"])
def test_a_host_name_that_cannot_be(tmp_path: Path, host: str) -> None:
    (tmp_path / "skills").mkdir()
    Done(tmp_path, "serve", "--host", host, "--port", "0").complains(1, "host name is invalid")
    checked = Done(tmp_path, "doctor", "--host", host)
    assert "Traceback" not in checked.error
    assert "it does not run" in checked.out


@pytest.mark.parametrize("arguments", [("install", "~nobody-here/x"), ("sources", "add", "foo", "~nobody-here/x")])
def test_the_home_of_nobody(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = Done(tmp_path, *arguments)
    assert "Traceback" not in done.error
    assert "nobody-here" in done.error + done.out


@pytest.mark.parametrize("command", ["list", "doctor", "init gone", "lock", "search table"])
def test_a_folder_that_was_removed(tmp_path: Path, command: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "{COMMAND}" {command}'
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **WORDS_ONLY}
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("skill-registry: the current folder cannot be used")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (("search", "tables", "--tag", ""), "tags[0]: must be 1 to 100 characters"),
        (("upgrade", "csv-cleanup", "--version", "soon"), "version: must be a version such as 1.4.0"),
        (("sources", "add", "Bad Name", "https://example.org/x.zip"), "name: must be 1 to 64 characters of a-z"),
    ],
)
def test_an_option_that_breaks_a_rule(tmp_path: Path, arguments: tuple[str, ...], rule: str) -> None:
    Done(tmp_path, *arguments).complains(2, rule)
    assert not (tmp_path / ".skill-registry").exists()


def test_a_folder_without_its_dot_is_named(tmp_path: Path) -> None:
    write_skill(tmp_path / "tools", "whittle", "Carves zebrawood spoons with great care.")
    refused = Done(tmp_path, "install", "tools/whittle", "--json").json["results"][0]
    assert refused["reason"] == "Skill 'tools/whittle' not found: to install the folder, write ./tools/whittle"
    assert Done(tmp_path, "install", "./tools/whittle").code == 0


def test_a_skill_may_be_named_by_its_file_and_by_way_of_other_folders(tmp_path: Path) -> None:
    whittle = write_skill(tmp_path / "tools", "whittle", "Carves zebrawood spoons with great care.")
    project = tmp_path / "project"
    project.mkdir()
    (project / "skill-project.toml").write_text("[dependencies]\n")
    assert Done(project, "install", "../project/../tools/whittle/SKILL.md").code == 0
    assert f'path = "{whittle}"' in (project / "skills.lock").read_text()
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (project / "link").symlink_to(tmp_path / "far" / "deep", target_is_directory=True)
    write_skill(tmp_path / "far", "carve", "Carves oak.")
    assert Done(project, "install", "./link/../carve").code == 0  # which is far/carve
    assert f'path = "{tmp_path / "far" / "carve"}"' in (project / "skills.lock").read_text()


@pytest.mark.parametrize("output", [(), ("--json",)])
def test_output_that_cannot_be_written(server: RunningServer, output: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [COMMAND, "list", "--server", server.url, *output]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "skill-registry: the output cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize("arguments", [("install", "./whittle"), ("lock",), ("sources", "add", "own", "./whittle")])
def test_a_disk_without_room_for_a_catalog_is_said_in_a_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a file system can only be mounted by root")
    try:
        write_skill(tmp_path, "whittle", "Carves zebrawood spoons with great care.")
        Done(tmp_path, *arguments).complains(
            1, "the catalog cannot be read or written: the disk of the database is full"
        )
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_a_data_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    Done(tmp_path, "scan", "--skills-dir", str(tmp_path), "--data-dir", "data").complains(
        1, "data: it is a file, where a folder is needed"
    )


@pytest.mark.parametrize(
    "command", ["search csv", "search csv --explain", "list", "show csv-cleanup --content", "status"]
)
def test_without_standard_output_a_command_ends_silently(server: RunningServer, command: str) -> None:
    assert closed(server, f"{command} --server {server.url}", ">&-") == (0, "")


@pytest.mark.parametrize(
    "command", ["login --username ann", "login --api-key", "users add bob --password-stdin --data-dir data", "import -"]
)
def test_without_standard_input_a_command_ends_in_one_line(server: RunningServer, command: str) -> None:
    place = "" if "--data-dir" in command else f" --server {server.url}"
    code, printed = closed(server, command + place, "<&-")
    assert (code in (0, 1), "Traceback" in printed) == (True, False), printed


def closed(server: RunningServer, command: str, stream: str) -> tuple[int, str]:
    """Run a command with one of its standard streams closed. Return its exit code and what the others got."""
    shell = ["sh", "-c", f"exec '{COMMAND}' {command} {stream}"]
    environment = {**os.environ, **WORDS_ONLY, "XDG_CONFIG_HOME": str(server.data_dir / "config")}
    done = subprocess.run(shell, cwd=server.data_dir, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
