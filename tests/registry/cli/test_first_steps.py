"""What a newcomer uses: `init`, `doctor` and `completion`."""

import os
import subprocess
from pathlib import Path

import pytest
from click import Context

from registry.cli.main import COMMANDS, main
from registry.config.types import DatabaseUrl
from registry.findings.engine import scan_folder
from registry.packages.package import read_folder
from support.commands import Done
from support.ports import free_port
from support.publishing import Registry
from support.servers import COMMAND, RunningServer, write_skill

LOCAL = {"SKILL_REGISTRY_EMBEDDING_PROVIDER": "local"}


def checks(done: Done) -> dict[str, tuple[str, str, str | None]]:
    return {one["name"]: (one["state"], one["message"], one["remedy"]) for one in done.json["checks"]}


def test_a_new_skill_passes_our_checks_and_is_served(tmp_path: Path) -> None:
    done = Done(tmp_path, "init", "skills/pdf-forms")
    assert (done.code, done.error) == (0, "")
    assert "skill-registry publish" in done.out
    folder = tmp_path / "skills" / "pdf-forms"
    package = read_folder(folder, tmp_path / "staged")
    assert (package.name, package.version, package.findings.risk) == ("pdf-forms", "0.1.0", "none")
    assert [finding.rule for finding in package.findings.findings] == ["placeholder"]
    assert scan_folder(folder).findings == []
    assert Done(tmp_path, "scan", "--json").json["warnings"] == {}
    assert Done(tmp_path, "list").out.startswith("pdf-forms\t0.1.0\tnone\tlocal\t")


def test_a_new_skill_is_published_when_its_author_has_written_it(tmp_path: Path) -> None:
    assert Done(tmp_path, "init", "pdf-forms", "--description", "Fills: 'pdf' forms # and more.").code == 0
    assert Done(tmp_path, "init", "tables").code == 0
    file, untouched = tmp_path / "pdf-forms/SKILL.md", tmp_path / "tables/SKILL.md"
    front_matter, lines = file.read_text().split("\n# Pdf forms\n")
    with Registry(tmp_path / "registry") as registry:

        def publish(name: str = "pdf-forms") -> Done:
            return Done(tmp_path, "publish", name, "--server", registry.url, "--json")

        publish("tables").complains(1, "nothing is sent", "SKILL.md", "(Say here what and when.)")
        untouched.write_text(untouched.read_text().replace("(Say here what", "(Say here\n  what"))
        publish("tables").complains(1, "(Say here what and when.)")
        for line in lines.splitlines():
            if line and not line.startswith("#"):
                file.write_text(f"{front_matter}\n# Pdf forms\n\n{line}\n")
                publish().complains(1, line)
        file.write_text(f"{front_matter}\n# Pdf forms\n\nFill in the fields. Name what it is not for.\n")
        published = publish()
    assert (published.code, published.json["status"], published.json["warnings"]) == (0, "accepted", [])


@pytest.mark.parametrize("name", ["Bad Name", "a--b", "-a", "a" * 65, "..", "a_b"])
def test_a_name_that_no_package_may_have_is_refused(tmp_path: Path, name: str) -> None:
    done = Done(tmp_path, "init", "--", name)
    assert (done.code, list(tmp_path.iterdir())) == (2, [])


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "pdf", "Is mine.")
    before = (folder / "SKILL.md").read_bytes()
    Done(tmp_path, "init", "pdf").complains(1, "pdf", "exists")
    assert (folder / "SKILL.md").read_bytes() == before


def test_a_short_description_is_warned_of(tmp_path: Path) -> None:
    assert "10 to 500 characters" in Done(tmp_path, "init", "pdf", "--description", "pdf").error
    Done(tmp_path, "init", "two", "--description", "a\x00b" * 9).complains(2, "description")


def test_an_empty_folder_lacks_things_and_nothing_fails(tmp_path: Path) -> None:
    done = Done(tmp_path, "doctor", "--json", "--port", str(free_port()), **LOCAL)
    assert (done.code, done.error) == (0, "")
    found = checks(done)
    assert {name for name, (state, *_) in found.items() if state == "missing"} == {
        *("skills directory", "data directory", "service", "registry", "package cache")  # tests have no cache
    }
    assert all(remedy for state, _, remedy in found.values() if state == "missing")
    assert found["semantic search"][:2] == ("ok", "local model all-MiniLM-L6-v2")
    assert list(tmp_path.iterdir()) == []
    assert "skill-registry login" in Done(tmp_path, "doctor").out


def test_what_runs_is_seen(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf", "Fills pdf forms.")
    with RunningServer(tmp_path) as server:
        found = checks(Done(tmp_path, "doctor", "--json", "--data-dir", "data"))
        other = checks(Done(tmp_path, "doctor", "--json", "--port", server.url.rpartition(":")[2]))
    assert (found["service"][0], server.url in found["service"][1]) == ("ok", True)
    assert found["skills directory"][:2] == ("ok", f"{tmp_path / 'skills'}: 1 skill")
    assert "another program" in other["service"][1]


def test_what_is_configured_and_does_not_work_fails(tmp_path: Path) -> None:
    broken = {"SKILL_REGISTRY_SERVER": f"http://127.0.0.1:{free_port()}"}
    done = Done(tmp_path, "doctor", "--json", **broken)
    assert (done.code, checks(done)["registry"][0]) == (1, "fails")
    assert "is it running" in checks(done)["registry"][1]
    (tmp_path / "file").write_text("")
    done = Done(tmp_path, "doctor", "--json", "--data-dir", "file/data")
    assert (done.code, checks(done)["data directory"][0]) == (1, "fails")
    done = Done(tmp_path, "doctor", "--json", PATH="")
    assert checks(done)["git"][0] == "missing"
    (tmp_path / "registry.toml").write_text('profile = "registry"\n')
    done = Done(tmp_path, "doctor", "--json", SKILL_REGISTRY_CONFIG=str(tmp_path / "registry.toml"))
    assert checks(done)["package cache"][:2] == ("ok", "a registry has none")


@pytest.mark.parametrize("is_file", [True, False])
def test_a_database_that_cannot_be_used_fails(tmp_path: Path, is_file: bool) -> None:
    (tmp_path / "data").mkdir()
    environment = {}
    if is_file:
        (tmp_path / "data" / "skill-registry.db").write_text("not a database")
    else:
        environment["SKILL_REGISTRY_DATABASE_URL"] = f"postgresql://u:p@127.0.0.1:{free_port()}/x"
    done = Done(tmp_path, "doctor", "--json", "--data-dir", "data", **environment)
    assert (done.code, checks(done)["data directory"][0]) == (1, "fails")


def test_a_database_without_a_catalog_is_no_fault(tmp_path: Path, database_url: DatabaseUrl) -> None:
    done = Done(tmp_path, "doctor", "--json", SKILL_REGISTRY_DATABASE_URL=database_url.reveal())
    assert (done.code, checks(done)["data directory"][0]) == (0, "missing")


def test_a_wrong_credential_is_seen(tmp_path: Path) -> None:
    with Registry(tmp_path / "registry") as registry:
        named = {"SKILL_REGISTRY_SERVER": registry.url, "SKILL_REGISTRY_CLIENT_API_KEY": "sk_wrong"}
        assert checks(Done(tmp_path, "doctor", "--json", **named))["registry"][0] == "fails"
        named["SKILL_REGISTRY_CLIENT_API_KEY"] = registry.caller()["Authorization"].removeprefix("Bearer ")
        assert checks(Done(tmp_path, "doctor", "--json", **named))["registry"][0] == "ok"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(tmp_path: Path, shell: str) -> None:
    done = Done(tmp_path, "completion", shell)
    assert (done.code, "_SKILL_REGISTRY_COMPLETE" in done.out) == (0, True)


def completed(folder: Path, line: str) -> set[str]:
    """Return what bash offers for the last word of a line."""
    program = f"""
eval "$(skill-registry completion bash)"
COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_skill_registry_completion skill-registry
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = os.environ | {"PATH": f"{Path(COMMAND).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_bash_completes_commands_options_and_choices(tmp_path: Path) -> None:
    assert completed(tmp_path, "skill-registry uni") == {"uninstall"}
    assert {"--max-risk", "--mode"} <= completed(tmp_path, "skill-registry search --m")
    assert completed(tmp_path, "skill-registry search --max-risk l") == {"low"}
    assert completed(tmp_path, "skill-registry sources re") == {"refresh", "remove"}


def test_bash_completes_what_the_catalog_has(tmp_path: Path) -> None:
    assert completed(tmp_path, "skill-registry show p") == set()  # there is no catalog, and none is made
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in forms.", tags="documents, drafts, d$(touch x), d;ls, d`ls`")
    write_skill(tmp_path / "skills", "pdf-merge", "Merge files.")
    assert Done(tmp_path, "scan").code == 0
    write_skill(tmp_path / "listed", "pdf-listed", "Only listed.")
    assert Done(tmp_path, "sources", "add", "team", str(tmp_path / "listed")).code == 0
    assert completed(tmp_path, "skill-registry show pdf-") == {"pdf-forms", "pdf-merge"}
    assert completed(tmp_path, "skill-registry uninstall pdf-merge pdf-f") == {"pdf-forms"}
    assert completed(tmp_path, "skill-registry install team") == {"team/pdf-listed"}
    assert completed(tmp_path, "skill-registry sources remove t") == {"team"}
    assert completed(tmp_path, "skill-registry search x --tag d") == {"documents", "drafts"}
    (tmp_path / "registry.toml").write_text("colour = 1")
    assert completed(tmp_path, "skill-registry show pdf-") == set()


def test_commands_are_completed_without_loading_them() -> None:
    names = {item.value for item in main.shell_complete(Context(main), "")}
    assert names == {name.partition(" ")[0] for name in COMMANDS}
