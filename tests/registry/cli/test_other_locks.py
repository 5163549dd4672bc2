"""Moving from `npx skills`: its lock is installed, and the folders that it has put there are kept."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Done
from support.git_server import GitServer
from support.servers import write_skill

ALLOWED = {"SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": "127.0.0.1"}


def skill_md(name: str) -> str:
    return f"---\nname: {name}\ndescription: A skill about {name}.\n---\n# {name}\n"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    with GitServer(tmp_path_factory.mktemp("hub")) as hub:
        hub.repository("vendor/skills").commit(
            {f"skills/{name}/SKILL.md": skill_md(name) for name in ("pdf", "csv", "wiki")}
        )
        yield hub


def install(folder: Path, *args: str) -> Done:
    return Done(folder, "install", *args, **ALLOWED)


def lock(folder: Path, skills: dict[str, dict[str, str]]) -> None:
    (folder / "skills-lock.json").write_text(json.dumps({"version": 1, "skills": skills}, indent=2))


def entry(hub: GitServer, name: str) -> dict[str, str]:
    url = hub.url("vendor/skills")
    return {"source": url, "sourceType": "git", "skillPath": f"skills/{name}/SKILL.md", "computedHash": "0" * 64}


def outcomes(done: Done) -> dict[str, Any]:
    return {row["id"]: row["outcome"] for row in done.json["results"]}


def test_what_the_lock_names_is_installed_once(hub: GitServer, tmp_path: Path) -> None:
    lock(tmp_path, {"pdf": entry(hub, "pdf"), "csv": entry(hub, "csv")})
    assert Done(tmp_path, "init", "--project").code == 0
    done = install(tmp_path, "skills-lock.json", "--json")
    assert (done.code, outcomes(done)) == (0, {"pdf": "installed", "csv": "installed"}), done.error
    assert (tmp_path / "skills/pdf/SKILL.md").read_text() == skill_md("pdf")
    assert "vendor/skills" in (tmp_path / "skill-project.toml").read_text()
    again = install(tmp_path, "skills-lock.json", "--json")
    assert (again.code, outcomes(again)) == (0, {"pdf": "already_installed", "csv": "already_installed"})


def test_a_project_with_such_a_lock_alone_says_how_to_install_it(tmp_path: Path) -> None:
    lock(tmp_path, {})
    done = install(tmp_path)
    assert done.code == 2
    assert "'skill-registry install skills-lock.json' installs what is in skills-lock.json" in done.error


def test_an_entry_that_cannot_be_installed_stops_no_other(hub: GitServer, tmp_path: Path) -> None:
    bun = {"source": "bun.sh", "sourceType": "well-known"}
    ssh = {"source": "git@git.example.com:a/b.git", "sourceType": "git", "skillPath": "x/SKILL.md"}
    lock(tmp_path, {"bun": bun, "of-ssh": ssh, "gone": entry(hub, "gone"), "wiki": entry(hub, "wiki")})
    done = install(tmp_path, "skills-lock.json", "--json")
    failed = dict.fromkeys(("bun", "of-ssh", "gone"), "error")
    assert (done.code, outcomes(done)) == (1, failed | {"wiki": "installed"})
    reasons = {row["id"]: row["reason"] for row in done.json["results"]}
    assert "'skill-registry sources add NAME https://bun.sh' lists its skills" in reasons["bun"]
    assert "ssh is not supported: write https://git.example.com/a/b.git" in reasons["of-ssh"]


def test_folders_with_the_same_files_are_kept_and_upgraded_from_then_on(hub: GitServer, tmp_path: Path) -> None:
    skills = tmp_path / ".agents/skills"
    for name in ("pdf", "csv"):
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(skill_md(name) + ("mine\n" if name == "csv" else ""))
    before = (skills / "pdf/SKILL.md").stat().st_ino
    lock(tmp_path, {"pdf": entry(hub, "pdf"), "csv": entry(hub, "csv")})
    done = install(tmp_path, "skills-lock.json", "--json", "--skills-dir", ".agents/skills")
    assert (done.code, outcomes(done)) == (1, {"pdf": "installed", "csv": "error"}), done.error
    assert (skills / "pdf/SKILL.md").stat().st_ino == before
    assert (skills / "csv/SKILL.md").read_text().endswith("mine\n")
    shown = Done(tmp_path, "show", "pdf", "--json", "--skills-dir", ".agents/skills").json
    assert shown["source_url"] == hub.url("vendor/skills")
    upgraded = Done(tmp_path, "upgrade", "pdf", "--json", "--skills-dir", ".agents/skills", **ALLOWED)
    assert (upgraded.code, outcomes(upgraded)) == (0, {"pdf": "up_to_date"}), upgraded.error


def test_a_skill_that_is_no_copy_of_the_origin_is_not_taken_over(hub: GitServer, tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf", "My own skill of this name.")
    done = install(tmp_path, f"{hub.url('vendor/skills')}#HEAD:skills/pdf")
    assert done.code == 1
    assert "My own" in (tmp_path / "skills/pdf/SKILL.md").read_text()
