"""skills.lock: written from the installed skills, and used to verify them."""

import codecs
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.domain.origins import GitOrigin, GitRef, LocalOrigin
from registry.project.lock_file import LockedSkill, LockFileError, read_lock, write_lock
from registry.skill_folder import tree_digest
from support.processes import Finished
from support.servers import COMMAND, RunningServer, write_skill

HASH = "0" * 64
EXAMPLES = settings(max_examples=100, deadline=None, database=None)


def locked(skill_id: str, **fields: Any) -> LockedSkill:
    given_fields: dict[str, Any] = {"path": skill_id, "origin": LocalOrigin(path=skill_id), "sha256": HASH} | fields
    return LockedSkill(id=skill_id, version="1.0.0", **given_fields)


class Project:
    """A folder with two locked skills, in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.skills = folder / "skills"
        self.lock = folder / "skills.lock"
        write_skill(self.skills, "pdf-forms", "Fill in pdf forms and read their fields.", version="1.2.0")
        (write_skill(self.skills, "acme/sql-review", "Review sql queries.") / "help.py").write_text("print()\n")
        code, printed = self.run("lock")
        assert (code, printed.split()) == (0, ["path", "skills.lock", "skills", "2"])

    def run(self, *args: str, **env: str) -> tuple[int, str]:
        """Return the exit code and the output of a command."""
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "SKILL_"))}
        environment = plain | {"SKILL_REGISTRY_EMBEDDING_PROVIDER": "none"} | env
        done = Finished([COMMAND, *args], environment, self.folder)
        return done.code, done.out + done.error


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_lock_lists_the_installed_skills(project: Project) -> None:
    sql, pdf = sorted(read_lock(project.lock), key=lambda entry: entry.path)
    assert (pdf.id, pdf.version, pdf.origin) == ("pdf-forms", "1.2.0", LocalOrigin(path="pdf-forms"))
    assert (sql.id, sql.path) == ("sql-review", "acme/sql-review")
    assert tree_digest(project.skills / sql.path) == f"sha256:{sql.sha256}"


def test_locking_again_does_not_change_the_file(project: Project) -> None:
    before = project.lock.read_bytes()
    assert project.run("lock")[0] == 0
    assert project.lock.read_bytes() == before
    assert str(project.folder).encode() not in before


def test_an_unchanged_tree_is_verified_without_a_catalog(project: Project) -> None:
    (project.folder / ".skill-registry").rename(project.folder / "gone")
    assert project.run("verify") == (0, "Differences from the lock of 2 skills: 0\n")
    assert not (project.folder / ".skill-registry").exists()


@pytest.mark.parametrize(
    ("change", "kind", "path"),
    [
        (lambda skills: (skills / "pdf-forms/SKILL.md").write_text("---\n---\nx"), "changed", "pdf-forms"),
        (lambda skills: (skills / "acme/sql-review/added.md").touch(), "changed", "acme/sql-review"),
        (lambda skills: (skills / "acme/sql-review/help.py").unlink(), "changed", "acme/sql-review"),
        (lambda skills: (skills / "acme/sql-review/help.py").rename(skills / "acme/x"), "changed", "acme/sql-review"),
        (lambda skills: (skills / "acme/sql-review/link").symlink_to("/etc"), "changed", "acme/sql-review"),
        (lambda skills: (skills / "pdf-forms").rename(skills.parent / "away"), "missing", "pdf-forms"),
        (lambda skills: write_skill(skills, "stray", "Nobody asked for this one."), "added", "stray"),
        (lambda skills: write_skill(skills, "team/inner", "Nobody asked for it."), "added", "team/inner"),
    ],
)
def test_every_difference_is_reported(project: Project, change: Callable[[Path], object], kind: str, path: str) -> None:
    change(project.skills)
    code, printed = project.run("verify")
    assert code == 1
    assert path in printed
    assert kind in printed
    assert f'"kind": "{kind}"' in project.run("verify", "--json")[1]


def test_a_folder_whose_name_is_not_utf8_is_reported(project: Project) -> None:
    folder = Path(os.fsdecode(os.fsencode(project.skills) + b"/stray-\xff\x1b[2J"))
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: x\ndescription: x\n---\n")
    for args in (("verify",), ("verify", "--json")):
        code, printed = project.run(*args)
        assert code == 1
        assert "stray-" in printed
        assert "\x1b" not in printed


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "version = 2\n",
        "version = 1\nskill = 5\n",
        "version = 1\n[[skill]]\nid = 'a'\n",
        "version = 1\n[",
        "version = 1\nunknown = 1\n",
        "\0",
    ],
)
def test_a_missing_or_invalid_lock_is_reported_in_one_line(project: Project, text: str | None) -> None:
    project.lock.unlink()
    if text is not None:
        project.lock.write_text(text)
    code, printed = project.run("verify")
    assert (code, printed.count("\n")) == (2, 1)
    assert "skills.lock" in printed


def test_a_lock_that_an_editor_on_windows_has_marked_is_read(tmp_path: Path) -> None:
    path = tmp_path / "skills.lock"
    write_lock(path, [locked("pdf-forms")])
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_lock(path) == [locked("pdf-forms")]


@pytest.mark.parametrize("path", ["../skills", "/etc", "a/../../b", "a//b", "", ".", "a/..", "a\0"])
def test_a_lock_path_must_stay_in_the_skills_directory(tmp_path: Path, path: str) -> None:
    with pytest.raises(LockFileError, match="path"):
        write_lock(tmp_path / "skills.lock", [locked("pdf-forms", path=path)])
    assert list(tmp_path.iterdir()) == []


def test_a_repeated_id_or_folder_is_refused(tmp_path: Path) -> None:
    for second in (locked("a", path="b"), locked("b", path="a")):
        with pytest.raises(LockFileError, match="two skills have the same"):
            write_lock(tmp_path / "skills.lock", [locked("a"), second])


def test_the_origin_of_an_unchanged_skill_stays(project: Project) -> None:
    origin = GitOrigin(url="https://example.org/pdf.git", ref=GitRef(tag="v1"))
    entries = {entry.id: entry for entry in read_lock(project.lock)}
    installed = locked("pdf-forms", origin=origin, commit="a" * 40, sha256=entries["pdf-forms"].sha256)
    write_lock(project.lock, [installed, entries["sql-review"]])
    assert project.run("lock")[0] == 0
    assert (read_lock(project.lock)[0].origin, read_lock(project.lock)[0].commit) == (origin, "a" * 40)
    (project.skills / "pdf-forms/more.md").touch()
    assert project.run("lock")[0] == 0
    assert (read_lock(project.lock)[0].origin, read_lock(project.lock)[0].commit) == (
        LocalOrigin(path="pdf-forms"),
        None,
    )


def test_the_lock_can_be_written_beside_a_running_server(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf-forms", "Fill in pdf forms and read their fields.")
    (tmp_path / "registry.toml").write_text('data_dir = "data"\n')
    with RunningServer(tmp_path) as server:
        server.wait_for(lambda: server.status()["skills"] == 1)
        done = Finished([COMMAND, "lock"], os.environ, tmp_path)
    assert done.code == 0, done.error
    assert [entry.id for entry in read_lock(tmp_path / "skills.lock")] == ["pdf-forms"]


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=30)


@EXAMPLES
@given(parts=st.lists(names.filter(lambda name: name not in (".", "..")), min_size=1, max_size=3))
def test_any_folder_name_is_read_back(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    path = tmp_path_factory.mktemp("lock") / "skills.lock"
    entry = locked("a", path="/".join(parts), origin=LocalOrigin(path="a"))
    write_lock(path, [entry])
    assert read_lock(path) == [entry]
