"""A project: `install` records skills in its manifest and lock, and without arguments installs what these name."""

import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registry.project.lock_file import read_lock
from registry.skill_folder import tree_digest
from support.commands import Done
from support.git_server import GitServer, Repository
from support.publishing import Registry, skill_package
from support.servers import RunningServer, write_skill
from support.web_server import WebServer, reply
from support.zips import plain_zip

MANIFEST, LOCK = "skill-project.toml", "skills.lock"
MARKERS = ("<<<<<<<", "=======", ">>>>>>>")
ALLOWED = {"SKILL_REGISTRY_OUTBOUND_ALLOWED_HOSTS": "127.0.0.1"}


def skill_md(name: str, version: str = "1.0.0", body: str = "") -> str:
    return (
        f"---\nname: {name}\ndescription: A skill about {name}.\nmetadata:\n  version: {version}\n---\n# {name}\n{body}"
    )


class Project:
    """A folder with a manifest, in a git repository that ignores the skills and the data directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *args: str) -> Done:
        return Done(self.folder, *args, **ALLOWED)

    def outcomes(self, *args: str, code: int = 0) -> dict[str, str]:
        done = self.run("install", *args, "--json")
        assert done.code == code, done.out + done.error
        return {row["id"]: row["outcome"] for row in done.json["results"]}

    def upgraded(self) -> dict[str, str]:
        return {row["id"]: row["outcome"] for row in self.run("upgrade", "--json").json["results"]}

    def pull(self) -> None:
        subprocess.run(["git", "pull", "--quiet"], cwd=self.folder, check=True)

    def reason(self, *args: str) -> str:
        done = self.run("install", *args, "--json")
        assert done.code == 1, done.out + done.error
        (reason,) = [row["reason"] for row in done.json["results"] if row["outcome"] == "error"]
        return str(reason)

    def dependencies(self) -> dict[str, Any]:
        found: dict[str, Any] = tomllib.loads((self.folder / MANIFEST).read_text())["dependencies"]
        return found

    def require(self, *lines: str) -> None:
        (self.folder / MANIFEST).write_text("[dependencies]\n" + "".join(f"{line}\n" for line in lines))

    def locked(self) -> dict[str, str]:
        return {entry.id: entry.version for entry in read_lock(self.folder / LOCK)}

    def digests(self) -> dict[str, str]:
        return {path.name: tree_digest(path) for path in (self.folder / "skills").iterdir()}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "project")
    (made.folder / ".gitignore").write_text("/skills/\n/.skill-registry/\n/config/\n")
    return made


@pytest.fixture
def project(repository: Repository) -> Project:
    made = Project(repository.folder)
    assert made.run("init", "--project").code == 0
    return made


@pytest.fixture
def skills(hub: GitServer) -> Repository:
    made = hub.repository("skills")
    made.commit({f"skills/{name}/SKILL.md": skill_md(name) for name in ("pdf", "csv")})
    return made


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer({"/z.zip": reply(plain_zip({"SKILL.md": skill_md("zipped").encode()}))}) as server:
        yield server


def clone(repository: Repository, folder: Path) -> Project:
    repository.commit()
    repository.git("clone", "--quiet", ".", str(folder))
    return Project(folder)


def test_a_clone_of_a_project_gets_the_same_bytes(
    tmp_path: Path, project: Project, repository: Repository, hub: GitServer, skills: Repository, web: WebServer
) -> None:
    near = write_skill(repository.folder / "tools", "near", "A skill of this repository.")
    write_skill(repository.folder, "linked", "A skill that is used in place.")
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as registry:
        registry.finished(registry.publish(skill_package("tea", "1.0.0", files={"run": b"echo tea\n"})))
        assert project.run("sources", "add", "hub", hub.url("skills")).code == 0
        assert project.outcomes("hub/pdf", f"{hub.url('skills')}/tree/main/skills/csv", f"{web.url}/z.zip", str(near))
        assert project.outcomes("./linked", "--editable") == {"linked": "installed"}
        assert project.outcomes("acme/tea@^1", "--from", registry.url) == {"tea": "installed"}
        files = [(project.folder / name).read_bytes() for name in (MANIFEST, LOCK)]
        assert str(tmp_path).encode() not in b"".join(files)
        for name in ("pdf", "csv"):
            skills.commit({f"skills/{name}/SKILL.md": skill_md(name, "2.0.0")})
        registry.finished(registry.publish(skill_package("tea", "1.1.0")))

        other = clone(repository, tmp_path / "elsewhere")
        expected = ("pdf", "csv", "zipped", "near", "linked", "tea")
        assert other.outcomes() == dict.fromkeys(expected, "installed")
    assert other.digests() == project.digests()
    assert [(other.folder / name).read_bytes() for name in (MANIFEST, LOCK)] == files
    assert other.run("verify").code == 0
    shutil.rmtree(hub.folder)  # nothing is fetched again
    assert other.outcomes() == dict.fromkeys(expected, "already_installed")
    assert (other.folder / "skills/linked").is_symlink()


def test_without_a_lock_the_manifest_decides(
    project: Project, hub: GitServer, skills: Repository, web: WebServer
) -> None:
    near = write_skill(project.folder / "tools", "near", "A skill of this repository.")
    skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "1.4.0")})
    git = f'{{type = "git", url = "{hub.url("skills")}", subdir = "skills/%s"}}'
    project.require(
        f'pdf = {{version = "^1.2", origin = {git % "pdf"}}}',
        f'csv = {{version = "2.0.0", origin = {git % "csv"}}}',
        f'zipped = {{origin = {{type = "zip", url = "{web.url}/z.zip"}}}}',
        f'near = {{origin = {{type = "local", path = "{near}"}}}}',  # as older versions have written it
        'absent = "1.0.0"',
    )
    before = (project.folder / MANIFEST).read_bytes()
    installed = dict.fromkeys(("pdf", "zipped", "near"), "installed")
    assert project.outcomes(code=1) == {**installed, "csv": "error", "absent": "error"}
    assert (project.folder / MANIFEST).read_bytes() == before
    assert project.locked() == {"pdf": "1.4.0", "zipped": "1.0.0", "near": "1.0.0"}
    skills.commit({"skills/csv/SKILL.md": skill_md("csv", "2.0.0")})
    again = dict.fromkeys(("pdf", "zipped", "near"), "already_installed")
    assert project.outcomes(code=1) == {**again, "csv": "installed", "absent": "error"}


def test_a_lock_that_does_not_agree_is_not_used(project: Project, hub: GitServer, skills: Repository) -> None:
    assert project.outcomes(f"{hub.url('skills')}/tree/main/skills/pdf") == {"pdf": "installed"}
    skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "1.1.0")})
    shutil.rmtree(project.folder / "skills")
    text = (project.folder / MANIFEST).read_text()
    (project.folder / MANIFEST).write_text(text.replace("pdf = {", 'pdf = {version = "^1.1", '))
    project.run("install", "--locked").complains(2, "pdf", LOCK, "skill-registry install")
    assert project.outcomes() == {"pdf": "installed"}
    assert project.locked() == {"pdf": "1.1.0"}
    shutil.rmtree(project.folder / "skills")
    assert project.outcomes("--locked") == {"pdf": "installed"}


def test_files_that_differ_from_the_lock_are_left_alone(project: Project) -> None:
    write_skill(project.folder / "tools", "near", "A skill of this repository.")
    assert project.outcomes("./tools/near") == {"near": "installed"}
    file = project.folder / "skills/near/SKILL.md"
    file.write_text(f"{file.read_text()}More.\n")
    reason = project.reason()
    assert LOCK in reason
    assert "changed locally" in reason
    assert file.read_text().endswith("More.\n")


@pytest.mark.usefixtures("skills")
def test_an_upgrade_shows_local_changes_and_the_ways_on(project: Project, hub: GitServer, skills: Repository) -> None:
    assert project.outcomes(f"{hub.url('skills')}/tree/main/skills/pdf") == {"pdf": "installed"}
    folder = project.folder / "skills/pdf"
    (folder / "scripts/__pycache__").mkdir(parents=True)
    (folder / "scripts/__pycache__/tool.pyc").write_bytes(b"\0")
    skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "1.1.0")})
    assert project.upgraded() == {"pdf": "updated"}
    (folder / "SKILL.md").write_text(skill_md("pdf", "1.1.0", "ours \u202e\x1b[31m\n"))
    (folder / "notes.md").write_text("kept\n")
    skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "1.2.0")})
    for arguments in (("upgrade",), ("upgrade", "pdf"), ("upgrade", "pdf", "--check")):
        done = project.run(*arguments)
        assert done.code == 1
        assert "changed SKILL.md; added notes.md" in " ".join(done.out.split())
        assert {"  +ours \\u202e\\x1b[31m", "  +kept"} <= {line.rstrip() for line in done.out.splitlines()}
        assert "'skill-registry upgrade pdf --discard'" in done.error
        assert "cp -r" in done.error
    assert "ours" in (folder / "SKILL.md").read_text()
    done = project.run("upgrade", "pdf", "--discard")
    assert done.code == 0, done.out + done.error
    assert (folder / "SKILL.md").read_text() == skill_md("pdf", "1.2.0")
    assert project.run("verify").code == 0


@pytest.mark.usefixtures("skills")
def test_a_changed_lock_updates_what_is_installed(
    tmp_path: Path, project: Project, repository: Repository, hub: GitServer, skills: Repository
) -> None:
    near = write_skill(repository.folder / "tools", "near", "A skill of this repository.")
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as registry:
        registry.finished(registry.publish(skill_package("tea", "1.0.0")))
        assert project.run("sources", "add", "hub", hub.url("skills")).code == 0
        assert project.outcomes("hub/pdf", "hub/csv", str(near))
        assert project.outcomes("acme/tea", "--from", registry.url) == {"tea": "installed"}
        other = clone(repository, tmp_path / "elsewhere")
        assert set(other.outcomes().values()) == {"installed"}

        skills.commit(
            {"skills/pdf/SKILL.md": skill_md("pdf", "1.1.0"), "skills/csv/SKILL.md": skill_md("csv", "1.1.0")}
        )
        registry.finished(registry.publish(skill_package("tea", "1.1.0")))
        (near / "SKILL.md").write_text(skill_md("near", "1.0.1"))
        assert set(project.upgraded().values()) == {"updated"}
        skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "3.0.0")})  # nobody has asked for it yet
        registry.finished(registry.publish(skill_package("tea", "3.0.0")))
        repository.commit()
        other.pull()
        lock = (other.folder / LOCK).read_bytes()
        names = ("pdf", "csv", "near", "tea")
        assert other.outcomes() == dict.fromkeys(names, "updated")
        assert other.outcomes() == dict.fromkeys(names, "already_installed")
        assert other.digests() == project.digests()
        assert (other.folder / LOCK).read_bytes() == lock
        assert other.run("verify").code == 0
        shutil.rmtree(other.folder / "skills")
        assert other.outcomes() == dict.fromkeys(names, "installed")
        # The lock pins nothing: what the manifest admits is upgraded in the clone too.
        assert other.upgraded() == {"pdf": "updated", "tea": "updated", "csv": "up_to_date", "near": "up_to_date"}


def checked_in(repository: Repository) -> None:
    """Check in the skills of a project too, which its other tests do not do."""
    (repository.folder / ".gitignore").write_text("/.skill-registry/\n/config/\n")
    repository.commit()


@pytest.mark.usefixtures("skills")
def test_skills_that_are_checked_in_are_those_of_the_lock_in_a_clone(
    tmp_path: Path, project: Project, repository: Repository, hub: GitServer, skills: Repository
) -> None:
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as registry:
        registry.finished(registry.publish(skill_package("tea", "1.0.0")))
        assert project.outcomes(f"{hub.url('skills')}/tree/main/skills/pdf") == {"pdf": "installed"}
        assert project.outcomes("acme/tea", "--from", registry.url) == {"tea": "installed"}
        write_skill(project.folder / "skills", "own", "A skill that nobody has installed.")
        assert project.run("lock").code == 0
        checked_in(repository)
        other = clone(repository, tmp_path / "elsewhere")
        lock = (other.folder / LOCK).read_bytes()
        assert set(other.outcomes().values()) == {"already_installed"}
        assert other.upgraded() == {"own": "immutable", "pdf": "up_to_date", "tea": "up_to_date"}
        assert (other.folder / LOCK).read_bytes() == lock
        assert other.run("lock").code == 0
        assert (other.folder / LOCK).read_bytes() == lock
        assert other.outcomes("acme/tea", "--from", registry.url) == {"tea": "already_installed"}

        skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "1.1.0")})
        registry.finished(registry.publish(skill_package("tea", "1.1.0")))
        other = clone(repository, tmp_path / "third")
        assert other.upgraded() == {"own": "immutable", "pdf": "updated", "tea": "updated"}
        assert other.run("verify").code == 0
        assert set(other.locked().values()) == {"1.0.0", "1.1.0"}


@pytest.mark.usefixtures("skills")
def test_a_checked_in_skill_with_local_changes_is_left_alone_in_a_clone(
    tmp_path: Path, project: Project, repository: Repository, hub: GitServer, skills: Repository
) -> None:
    assert project.outcomes(f"{hub.url('skills')}/tree/main/skills/pdf") == {"pdf": "installed"}
    checked_in(repository)
    skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "1.1.0")})
    other = clone(repository, tmp_path / "elsewhere")
    file = other.folder / "skills/pdf/SKILL.md"
    file.write_text(f"{file.read_text()}More.\n")
    assert "changed locally since the installation: changed SKILL.md" in other.reason()
    assert other.upgraded() == {"pdf": "immutable"}
    assert file.read_text().endswith("More.\n")
    done = other.run("upgrade", "pdf", "--discard")
    assert done.code == 0, done.out + done.error
    assert file.read_text() == skill_md("pdf", "1.1.0")


@pytest.mark.usefixtures("skills")
def test_checked_in_skills_that_a_pull_has_updated_are_those_of_the_lock(
    tmp_path: Path, project: Project, repository: Repository, hub: GitServer, skills: Repository
) -> None:
    assert project.outcomes(f"{hub.url('skills')}/tree/main/skills/pdf") == {"pdf": "installed"}
    checked_in(repository)
    other = clone(repository, tmp_path / "elsewhere")
    assert other.upgraded() == {"pdf": "up_to_date"}
    skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "1.1.0")})
    assert project.upgraded() == {"pdf": "updated"}
    repository.commit()
    other.pull()
    assert other.upgraded() == {"pdf": "up_to_date"}
    skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "1.2.0")})
    assert project.upgraded() == {"pdf": "updated"}
    repository.commit()
    other.pull()
    (other.folder / "skills/pdf/notes.md").write_text("kept\n")
    assert other.upgraded() == {"pdf": "immutable"}
    (other.folder / "skills/pdf/notes.md").unlink()
    assert other.run("uninstall", "pdf").code == 0
    assert (other.locked(), other.dependencies()) == ({}, {})
    assert other.run("uninstall", "--undo", "pdf").code == 0
    assert (other.folder / LOCK).read_bytes() == (project.folder / LOCK).read_bytes()
    assert other.upgraded() == {"pdf": "up_to_date"}


def test_conflicts_of_a_merge_are_named_with_the_way_out(
    project: Project, repository: Repository, hub: GitServer, skills: Repository
) -> None:
    repository.commit()
    repository.git("branch", "theirs")
    assert project.outcomes(f"{hub.url('skills')}#main:skills/pdf") == {"pdf": "installed"}
    repository.commit()
    repository.git("switch", "--quiet", "theirs")
    shutil.rmtree(repository.folder / "skills")
    assert project.outcomes(f"{hub.url('skills')}#main:skills/csv") == {"csv": "installed"}
    repository.commit()
    merge = ["git", "-c", "user.name=Ada", "-c", "user.email=Ada", "merge", "--quiet", "main"]
    assert subprocess.run(merge, cwd=project.folder, check=False).returncode == 1
    project.run("install").complains(2, MANIFEST, "has conflicts of a merge (at line")
    lines = (project.folder / MANIFEST).read_text().splitlines(keepends=True)
    (project.folder / MANIFEST).write_text("".join(line for line in lines if line[:7] not in MARKERS))
    for args in (("install",), ("lock",), ("audit",)):
        error = project.run(*args).error
        assert f"{LOCK} has conflicts of a merge (at line 5): take one side, as 'git checkout --ours" in error
    repository.git("checkout", "--ours", LOCK)
    project.outcomes()
    assert sorted(project.locked()) == sorted(project.dependencies()) == ["csv", "pdf"]
    assert project.run("verify").code == 0


@pytest.mark.usefixtures("skills")
def test_what_is_installed_already_is_no_failure(project: Project, hub: GitServer, web: WebServer) -> None:
    assert project.run("sources", "add", "hub", hub.url("skills")).code == 0
    near = write_skill(project.folder / "tools", "near", "A skill of this repository.")
    origins = ("hub/pdf", f"{hub.url('skills')}/tree/main/skills/csv", f"{web.url}/z.zip", str(near))
    assert set(project.outcomes(*origins).values()) == {"installed"}
    known = len(hub.paths)
    again = project.run("install", *origins, "hub/pdf@^1")
    assert again.code == 0, again.out
    assert [line.split()[1:4] for line in again.out.splitlines()[1:6]] == [["already", "installed", "1.0.0"]] * 5
    # Only the repository knows what of `tree/main/skills/csv` is its ref: the refs are listed, and nothing is fetched.
    assert [path.partition("?")[0].rpartition("/")[2] for path in hub.paths[known:]] == ["refs", "git-upload-pack"]


@pytest.mark.usefixtures("skills")
def test_another_version_is_for_upgrade(project: Project, hub: GitServer, skills: Repository) -> None:
    assert project.run("sources", "add", "hub", hub.url("skills")).code == 0
    assert project.outcomes("hub/pdf") == {"pdf": "installed"}
    skills.commit({"skills/pdf/SKILL.md": skill_md("pdf", "1.1.0")})
    assert project.run("sources", "refresh").code == 0
    reason = project.reason("hub/pdf@1.1.0")
    assert "1.0.0" in reason
    assert "'skill-registry upgrade pdf --version 1.1.0'" in reason
    assert project.run("upgrade", "pdf", "--version", "1.1.0").code == 0
    assert project.outcomes("hub/pdf@1.1.0") == {"pdf": "already_installed"}
    write_skill(project.folder / "tools", "pdf", "Another skill of this name.")
    assert "uninstall it" in project.reason("./tools/pdf")


def test_what_was_there_before_the_manifest_is_added_to_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    write_skill(tmp_path / "tools", "near", "A skill of this folder.")
    done = project.run("install", "./tools/near")
    assert (done.code, "skill-registry init --project" in done.error, done.error.count("\n")) == (0, True, 1)
    assert not (tmp_path / MANIFEST).exists()
    assert not (tmp_path / LOCK).exists()
    assert project.run("init", "--project").code == 0
    assert project.outcomes("./tools/near") == {"near": "already_installed"}
    assert project.dependencies() == {"near": {"origin": {"type": "local", "path": "./tools/near"}}}
    assert project.run("install", "./tools/near").error == ""


def test_a_service_of_another_folder_leaves_the_manifest_to_the_command(tmp_path: Path, project: Project) -> None:
    near = write_skill(project.folder / "tools", "near", "A skill of this folder.")
    with RunningServer(tmp_path / "service") as server:
        done = project.run("install", "./tools/near", "--data-dir", str(server.data_dir), "--json")
        assert done.code == 0, done.error
        assert (server.skills_dir / "near").exists()
        again = project.run("install", "--data-dir", str(server.data_dir), "--skills-dir", str(server.skills_dir))
    assert again.code == 0, again.out
    assert project.dependencies() == {"near": {"origin": {"type": "local", "path": f"./tools/{near.name}"}}}


def test_uninstall_removes_the_entries_of_both_files(tmp_path: Path, project: Project) -> None:
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as registry:
        registry.finished(registry.publish(skill_package("tea")))
        project.require(f'"acme/tea" = {{origin = {{type = "registry", url = "{registry.url}", skill = "acme/tea"}}}}')
        env = {**ALLOWED, "SKILL_REGISTRY_SERVER": registry.url}
        assert Done(project.folder, "install", **env).code == 0
        assert Done(project.folder, "install", "acme/tea", **env).code == 0
        assert list(project.dependencies()) == ["acme/tea"]
        assert project.locked() == {"tea": "1.0.0"}
        assert project.run("uninstall", "tea").code == 0
    assert (project.dependencies(), project.locked()) == ({}, {})


def test_skills_of_one_name_in_two_scopes_are_not_taken_for_each_other(tmp_path: Path, project: Project) -> None:
    with Registry(tmp_path / "registry", "--auth-anonymous-read") as registry:
        for scope in ("acme", "corp"):
            registry.finished(registry.publish(skill_package("tea"), registry.caller(f"{scope}/ann")))
        env = {**ALLOWED, "SKILL_REGISTRY_SERVER": registry.url}
        project.require('"acme/tea" = "1.0.0"')
        assert Done(project.folder, "install", **env).code == 0
        project.require('"acme/tea" = "1.0.0"', '"corp/tea" = "1.0.0"')
        done = Done(project.folder, "install", "--json", **env)
        again = Done(project.folder, "install", "--json", **env)
    rows = [(row["id"], row["outcome"]) for row in done.json["results"]]
    assert rows == [("tea", "already_installed"), ("corp-tea", "installed")]
    assert [row["outcome"] for row in again.json["results"]] == ["already_installed"] * 2
    assert project.locked() == {"tea": "1.0.0", "corp-tea": "1.0.0"}
    assert project.run("uninstall", "corp-tea").code == 0
    assert list(project.dependencies()) == ["acme/tea"]


def test_a_project_without_skills_has_nothing_to_install(tmp_path: Path, project: Project) -> None:
    done = project.run("install")
    assert (done.code, done.out) == (0, "")
    assert "names no skills yet" in done.error
    Project(tmp_path).run("install").complains(2, MANIFEST, "skill-registry init --project")
    (project.folder / "docs").mkdir()
    Project(project.folder / "docs").run("install").complains(2, f"one in {project.folder}: run the command there")
    (project.folder / LOCK).write_text("broken\n")
    for command in ("install", "verify"):
        project.run(command).complains(2, f"{LOCK} is not TOML", "delete it and run 'skill-registry lock'")
    (tmp_path / MANIFEST).write_text("[dependencies\n")
    Project(tmp_path).run("install").complains(2, MANIFEST, "line 1")


def test_a_project_is_made_once(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.run("init", "--project", "--json").json == {"path": str(tmp_path / MANIFEST)}
    assert project.dependencies() == {}
    project.run("init", "--project").complains(1, MANIFEST, "exists")
    project.run("init").complains(2, "--project")
    project.run("init", "pdf", "--project").complains(2, "--project")
    project.run("init", "--project", "--project-file", "no/such.toml").complains(1, "such.toml")
