"""Skills in the folders of agents: installed, upgraded, removed and verified with the skills directory."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from registry.domain.agents import AGENTS
from registry.skill_folder import tree_digest
from support.commands import Done
from support.killing import Steps
from support.publishing import Registry, skill_package


class Project(NamedTuple):
    """A project, and a home folder."""

    folder: Path
    home: Path
    url: str

    def run(self, *args: str, **env: str) -> Done:
        """Run a command in the project."""
        places = {"HOME": str(self.home), "SKILL_REGISTRY_SERVER": self.url, "XDG_CONFIG_HOME": str(self.home / "c")}
        return Done(self.folder, *args, **places, **env)

    def ok(self, *args: str) -> Done:
        """Run a command that succeeds."""
        done = self.run(*args)
        assert done.code == 0, done.error + done.out
        return done


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with Registry(tmp_path_factory.mktemp("registry"), "--auth-anonymous-read") as running:
        for name, version in (("tea", "1.0.0"), ("tea", "1.1.0"), ("ocr", "1.0.0")):
            running.finished(running.publish(skill_package(name, version, files={"scripts/run.sh": b"echo\n"})))
        yield running


@pytest.fixture
def project(tmp_path: Path, registry: Registry) -> Project:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "skill-project.toml").write_text('# Ours.\n[dependencies]\n\n[tool.other]\nkept = "yes"\n')
    return Project(tmp_path / "project", tmp_path / "home", registry.url)


def test_every_agent_gets_the_same_files(project: Project) -> None:
    names = [name for agent in AGENTS for name in (agent.name, *agent.others)]
    project.ok("install", "acme/tea", *(part for name in names for part in ("--agent", name)))
    folders = {agent.project for agent in AGENTS}
    assert len(folders) == 10
    for folder in folders:
        assert (project.folder / folder / "tea" / "scripts" / "run.sh").read_bytes() == b"echo\n"
    assert not list(project.folder.rglob(".skill-registry-*"))
    manifest = (project.folder / "skill-project.toml").read_text()
    assert ("# Ours." in manifest, 'kept = "yes"' in manifest, '"claude"' in manifest) == (True, True, True)
    assert project.ok("verify").out.endswith("Differences from the lock of 1 skill: 0\n")
    shown = json.loads(project.ok("list", "--data-dir", ".skill-registry", "--json").out)["skills"][0]["agent_folders"]
    assert set(shown) == folders


@pytest.mark.parametrize("links", [(), ("--link",)])
def test_copies_and_links_follow_the_skills_directory(project: Project, links: tuple[str, ...]) -> None:
    project.ok("install", "acme/tea@1.0.0", "acme/ocr", "--agent", "claude", "--agent", "codex", *links)
    claude, shared = project.folder / ".claude/skills", project.folder / ".agents/skills"
    assert {path.is_symlink() for folder in (claude, shared) for path in folder.iterdir()} == {bool(links)}
    project.ok("upgrade", "tea", "--version", "1.1.0")
    for folder in (claude, shared):
        assert "version: 1.1.0" in (folder / "tea" / "SKILL.md").read_text()
    project.ok("verify", "--log")
    project.ok("uninstall", "tea")
    assert [path.name for path in claude.iterdir()] == ["ocr"]
    shutil.rmtree(claude)
    missing = project.run("verify")
    assert (missing.code, ".claude/skills/ocr" in missing.out, "Claude Code" in missing.out) == (1, True, True)
    project.ok("install")  # a clone of the project
    assert (claude / "ocr").is_symlink() is bool(links)
    project.ok("verify")


def test_what_is_not_ours_stays(project: Project) -> None:
    mine = project.folder / ".claude/skills/tea"
    mine.mkdir(parents=True)
    (mine / "SKILL.md").write_text("my own tea\n")
    done = project.ok("install", "acme/tea@1.0.0", "acme/ocr", "--agent", "claude")
    assert ".claude/skills/tea is another skill" in done.error
    (mine.parent / "ocr" / "SKILL.md").write_text("changed by me\n")
    verified = project.run("verify", "--json")
    paths = [row["path"] for row in verified.json["differences"]]
    assert (verified.code, paths) == (1, [".claude/skills/ocr", ".claude/skills/tea"])
    project.ok("upgrade")
    project.ok("uninstall", "tea", "ocr")
    assert (mine / "SKILL.md").read_text() == "my own tea\n"
    assert (mine.parent / "ocr" / "SKILL.md").read_text() == "changed by me\n"


def test_a_copy_that_was_changed_is_named_when_its_skill_changes(project: Project) -> None:
    project.ok("install", "acme/tea@1.0.0", "acme/ocr", "--agent", "claude", "--agent", "codex")
    for folder in (".claude/skills", ".agents/skills"):
        with (project.folder / folder / "tea" / "SKILL.md").open("a") as file:
            file.write("A line of the user.\n")
    mine = project.folder / ".gemini/skills/tea"
    mine.mkdir(parents=True)
    (mine / "SKILL.md").write_text("my own tea\n")
    upgraded = project.ok("upgrade", "tea", "--version", "1.1.0").error
    assert upgraded.count("tea is another skill, or was changed there: it is left as it is") == 2, upgraded
    assert "changed there" not in project.ok("upgrade").error  # once, when it becomes old
    removed = project.ok("uninstall", "tea").error
    for folder in (".claude/skills", ".agents/skills"):
        assert f"{folder}/tea was changed there: it stays, and agents go on reading it" in removed
    assert (".gemini" in upgraded + removed, (mine / "SKILL.md").is_file()) == (False, True)


def test_a_project_cannot_lead_out_of_itself(project: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (project.folder / ".claude").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    done = project.ok("install", "acme/tea", "--agent", "claude")
    assert ".claude/skills is a link out of the project" in done.error
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_skills_for_all_projects(project: Project) -> None:
    (project.home / ".claude").mkdir()
    project.ok("install", "acme/tea@1.0.0", "--global", "--agent", "claude", "--agent", "opencode", "--agent", "codex")
    places = [".agents/skills", ".claude/skills"]
    for place in places:
        assert (project.home / place / "tea" / "SKILL.md").is_file(), place
    assert (project.home / "c" / "opencode" / "skills" / "tea").is_dir()  # below XDG_CONFIG_HOME
    assert not (project.folder / "skills").exists()
    assert "tea" not in (project.folder / "skill-project.toml").read_text()
    project.ok("verify", "--global", "--log")
    project.ok("upgrade", "tea", "--global", "--version", "1.1.0")
    assert "version: 1.1.0" in (project.home / ".claude/skills/tea/SKILL.md").read_text()
    assert [card["id"] for card in json.loads(project.ok("list", "--global", "--json").out)["skills"]] == ["tea"]
    assert project.ok("outdated", "--global").code == 0
    assert project.ok("audit", "--global").code == 0
    project.ok("uninstall", "--global", "tea")
    assert not any((project.home / place / "tea").exists() for place in places)


def test_the_agents_that_are_used_here(project: Project) -> None:
    (project.home / ".codeium/windsurf").mkdir(parents=True)
    (project.folder / ".cursor").mkdir()
    (project.folder / ".github").mkdir()
    project.ok("install", "acme/tea", "--agent", "gemini-cli")
    rows = {row["name"]: row for row in json.loads(project.ok("agents", "--json").out)["agents"]}
    assert {name for name, row in rows.items() if row["used"]} == {"windsurf", "cursor", "gemini"}
    assert [name for name, row in rows.items() if row["chosen"]] == ["gemini"]
    assert rows["gemini"]["project_skills"] == 1
    lines = [line.split() for line in project.ok("agents").out.splitlines()]
    assert ["cursor", "used", ".cursor/skills", "~/.cursor/skills", "0", "0"] in lines


def test_wrong_names_and_places_are_refused(project: Project, registry: Registry) -> None:
    project.run("install", "acme/tea", "--agent", "nobody").complains(2, "'nobody' is no agent", "claude, codex")
    project.run("install", "acme/tea", "--agent", "claude", "--server", registry.url).complains(2, "leave out --server")
    (project.folder / "skill-project.toml").write_text('[tool.skill-registry]\nagents = ["nobody"]\n')
    project.run("install", "acme/tea").complains(2, "'nobody' is no agent")
    assert not (project.folder / "skills").exists()


def test_a_withdrawn_skill_is_named_with_the_folders_of_agents(project: Project, registry: Registry) -> None:
    registry.finished(registry.publish(skill_package("bad")))
    project.ok("install", "acme/bad", "--agent", "claude")
    admin = registry.caller("acme/root", "admin")
    registry.http.post("/api/v1/registry/skills/acme/bad/1.0.0/yank", headers=admin).raise_for_status()
    done = project.run("audit")
    assert (done.code, "agents read it from .claude/skills" in " ".join(done.out.split())) == (1, True), done.out


def upgrade_killed(project: Project, kill_at: int | None) -> list[str]:
    """Kill an upgrade after so many of its steps, and return what steps it has taken."""
    places = {"HOME": str(project.home), "SKILL_REGISTRY_SERVER": project.url}
    command = [sys.executable, "-m", "registry", "upgrade", "tea", "--version", "1.1.0"]
    environment = {**os.environ, **places, "SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": "127.0.0.1"}
    with subprocess.Popen(command, cwd=project.folder, env=environment, stdout=subprocess.DEVNULL) as process:
        with Steps(process, kill_at, pause=1) as followed:
            process.wait()
        assert process.returncode in (0, -signal.SIGKILL)  # it may take fewer steps than another time
    return followed.taken


def skills_below(folder: Path) -> dict[str, str]:
    """Return the digest of each skill in a folder, by its name there."""
    return {path.name: tree_digest(path) for path in folder.iterdir() if not path.name.startswith(".")}


def test_a_kill_leaves_whole_skills_and_the_next_command_finishes(project: Project, tmp_path: Path) -> None:
    project.ok("install", "acme/tea@1.0.0", "acme/ocr", "--agent", "claude")
    shutil.copytree(project.folder, tmp_path / "before", symlinks=True)
    former = skills_below(project.folder / "skills")
    steps = upgrade_killed(project, None)
    latter = skills_below(project.folder / "skills")
    assert former["tea"] != latter["tea"]
    whole = {*former.items(), *latter.items()}
    first = next(place for place, step in enumerate(steps) if "/skills/" in step)
    for part in (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95):
        shutil.rmtree(project.folder)
        shutil.copytree(tmp_path / "before", project.folder, symlinks=True)
        upgrade_killed(project, first + round((len(steps) - first) * part))
        for folder in ("skills", ".claude/skills"):
            assert skills_below(project.folder / folder).items() <= whole, part
        project.ok("install")
        assert skills_below(project.folder / "skills").keys() == {"tea", "ocr"}
        assert skills_below(project.folder / ".claude/skills") == skills_below(project.folder / "skills")
        project.ok("verify")
