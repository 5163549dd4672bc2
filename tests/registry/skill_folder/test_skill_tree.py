import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from registry.skill_folder import FileEntry, fingerprint, list_files, open_file, tree_digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A skill with a reference, a SKILL.md below it, a link in and a link out, and a temporary file of ours."""
    folder = tmp_path / "root" / "skill"
    files = {"SKILL.md": "s", "references/a.md": "aa", "nested/SKILL.md": "n", ".git/x": "g", ".skill-registry-1": "t"}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "secret").write_text("secret")
    (folder / "in").symlink_to("references/a.md")
    (folder / "out").symlink_to("../../secret")
    (folder / "circle").symlink_to("circle")
    return folder


def test_own_files_are_listed(folder: Path) -> None:
    paths = [("SKILL.md", 1), ("nested/SKILL.md", 1), ("references/a.md", 2)]
    assert list_files(folder) == [FileEntry(*path) for path in paths]


@pytest.mark.parametrize("path", ["SKILL.md", "references/a.md", "nested/SKILL.md", "in"])
def test_a_file_below_the_folder_opens(folder: Path, path: str) -> None:
    assert open_file(folder, path).read_text() == (folder / path).read_text()


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "/", "../skill/SKILL.md", "references/../SKILL.md", "./SKILL.md", "references//a.md"),
        *("/etc/passwd", "references\\a.md", "SKILL.md\0", "SKILL.md\n", ".git/x", ".skill-registry-1", "out"),
    ],
)
def test_a_path_that_could_leave_the_folder_is_refused(folder: Path, path: str) -> None:
    with pytest.raises(ValueError, match="must"):
        open_file(folder, path)


@pytest.mark.parametrize("path", ["absent", "references", "circle", "SKILL.md/x", "x" * 300, "\ud800"])
def test_what_is_no_file_is_not_found(folder: Path, path: str) -> None:
    with pytest.raises(FileNotFoundError):
        open_file(folder, path)


def test_the_fingerprint_follows_own_files_only(folder: Path) -> None:
    before = fingerprint(folder)
    (folder / ".git" / "x").write_text("changed")
    assert fingerprint(folder) == before
    (folder / "references" / "a.md").write_text("changed")
    changed = fingerprint(folder)
    (folder / "new").touch()
    assert len({before, changed, fingerprint(folder)}) == 3


def test_the_fingerprint_of_a_vast_folder_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").touch()
    (tmp_path / "many").mkdir()
    for number in range(2_100):
        (tmp_path / "many" / f"{number:04}").touch()
    before = fingerprint(tmp_path)
    (tmp_path / "SKILL.md").write_text("changed")
    assert fingerprint(tmp_path) != before
    assert len(list_files(tmp_path)) == 2_000


def test_the_digest_is_of_paths_and_contents(tmp_path: Path) -> None:
    for name in ("b/c", "a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    records = [f"{name}\0{hashlib.sha256(name.encode()).hexdigest()}\n" for name in ("a", "b/c")]
    expected = "sha256:" + hashlib.sha256("".join(records).encode()).hexdigest()
    assert tree_digest(tmp_path) == expected
    (tmp_path / "a").chmod(0o755)
    os.utime(tmp_path / "a", (0, 0))
    (tmp_path / "empty").mkdir()
    assert tree_digest(tmp_path) == expected


@pytest.mark.parametrize("path", ["SKILL.md", "references/a.md", "nested/SKILL.md"])
def test_the_digest_follows_every_file(folder: Path, path: str) -> None:
    before = tree_digest(folder)
    (folder / path).write_text("x")
    assert tree_digest(folder) != before


def test_the_digest_counts_a_link_by_its_target(folder: Path) -> None:
    before = tree_digest(folder)
    (folder.parent.parent / "secret").write_text("changed")
    assert tree_digest(folder) == before
    (folder / "in").unlink()
    (folder / "in").symlink_to("SKILL.md")
    assert tree_digest(folder) != before


def test_a_path_of_thousands_of_parts_costs_no_system_call_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    lstat = os.lstat

    def counted(*args: Any, **options: Any) -> os.stat_result:
        asked.append(args)
        return lstat(*args, **options)

    monkeypatch.setattr(os, "lstat", counted)
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path, "/".join("a" * 1_500))
    assert len(asked) < 100
