from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from registry.parsing.yaml_text import Value
from registry.skill_folder import (
    StagedSkill,
    UnreadableSkill,
    fingerprint,
    read_new_skill_folder,
    read_skill_folder,
    remove_leftovers,
    remove_skill_folder,
    remove_staged,
    staging_place,
    update_skill_file,
    write_skill_folder,
)
from registry.skill_folder.tree import fingerprint_of_files

FIELDS: dict[str, Value] = {"name": "pdf", "description": "Fill forms.", "metadata": {"version": "1.0.0"}}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_written_skill_reads_back(tmp_path: Path) -> None:
    folder = write_skill_folder(tmp_path, "pdf", FIELDS, "# PDF\n")
    skill = read_skill_folder(folder)
    assert (skill.name, skill.description, skill.version) == ("pdf", "Fill forms.", "1.0.0")
    assert (skill.body, skill.warnings) == ("# PDF\n", [])
    assert names(tmp_path) == ["pdf"]
    assert folder.stat().st_mode & 0o777 == 0o755
    assert (folder / "SKILL.md").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    "fields",
    [
        FIELDS,
        {"name": "pdf", "metadata": {"version": "one"}},
        {"description": "\u202e"},
        {"name": "pdf", "metadata": {"dependencies": "acme/ocr@^1, wrong"}},
    ],
)
def test_a_staged_skill_is_known_without_reading_it(tmp_path: Path, fields: dict[str, Value]) -> None:
    staged = [StagedSkill.of(tmp_path, fields, body) for body in ("# PDF\n\nFill forms.\n", "", "Not written.")]
    for skill in staged[:2]:
        read = read_new_skill_folder(skill.folder, skill.data)
        state = skill.write()
        assert read == read_skill_folder(skill.folder)
        assert fingerprint_of_files([("SKILL.md", state)]) == fingerprint(skill.folder)
    moved = staged[0].folder.rename(tmp_path / "pdf")
    remove_staged(staged)
    assert names(tmp_path) == ["pdf"]
    assert moved.stat().st_mode & 0o777 == 0o755
    assert (moved / "SKILL.md").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_is_there_is_not_overwritten(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "pdf"
    if kind == "link":
        place.symlink_to("absent")
    else:
        place.mkdir() if kind == "folder" else place.touch()
    with pytest.raises(FileExistsError):
        write_skill_folder(tmp_path, "pdf", FIELDS, "B")
    assert names(tmp_path) == ["pdf"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", ".hidden", "a\n", "a\0", "ä"])
def test_a_name_unfit_for_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not a valid name"):
        write_skill_folder(tmp_path, name, FIELDS, "B")
    assert names(tmp_path) == []


def test_of_many_writers_one_wins(tmp_path: Path) -> None:
    def write(number: int) -> bool:
        try:
            write_skill_folder(tmp_path, "pdf", FIELDS, f"{number}")
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(24))) == 1
    assert names(tmp_path) == ["pdf"]


def test_nothing_stays_of_a_skill_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_skill_folder(tmp_path, "pdf", FIELDS, "\ud800")
    assert names(tmp_path) == []


def test_an_update_changes_only_what_is_asked(tmp_path: Path) -> None:
    path = write_skill_folder(tmp_path, "pdf", FIELDS, "B") / "SKILL.md"
    path.write_bytes(path.read_bytes().replace(b"\nB", b"\n# caf\xe9  \r\n"))
    path.chmod(0o600)
    before = path.read_bytes()
    update_skill_file(path.parent, {"metadata.version": "1.1.0"})
    assert path.read_bytes() == before.replace(b"1.0.0", b"1.1.0")
    assert path.stat().st_mode & 0o777 == 0o600
    assert names(path.parent) == ["SKILL.md"]


def test_an_update_can_bring_a_new_body(tmp_path: Path) -> None:
    folder = write_skill_folder(tmp_path, "pdf", FIELDS, "Old")
    update_skill_file(folder, {"description": "Fill forms: fast."}, "# New\n\n---\n\nText")
    skill = read_skill_folder(folder)
    assert (skill.description, skill.body) == ("Fill forms: fast.", "# New\n\n---\n\nText\n")


def test_a_link_within_the_folder_is_written_through_and_one_out_of_it_is_not(tmp_path: Path) -> None:
    path = write_skill_folder(tmp_path, "pdf", FIELDS, "B") / "SKILL.md"
    path.rename(path.with_name("real.md"))
    path.symlink_to("real.md")
    update_skill_file(path.parent, {"name": "new"})
    assert path.is_symlink()
    assert read_skill_folder(path.parent).name == "new"
    path.unlink()
    path.symlink_to("../other")
    with pytest.raises(UnreadableSkill):
        update_skill_file(path.parent, {"name": "new"})


def test_a_removed_folder_is_gone(tmp_path: Path) -> None:
    folder = write_skill_folder(tmp_path, "pdf", FIELDS, "B")
    (folder / "references").mkdir()
    remove_skill_folder(tmp_path, folder)
    assert names(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        remove_skill_folder(tmp_path, folder)


def test_of_a_linked_skill_only_the_link_is_removed(tmp_path: Path) -> None:
    (root := tmp_path / "root").mkdir()
    folder = write_skill_folder(tmp_path, "pdf", FIELDS, "B")
    (root / "linked").symlink_to(folder)
    remove_skill_folder(root, root / "linked")
    assert names(root) == []
    assert (folder / "SKILL.md").is_file()


def test_other_skills_and_places_are_never_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    outer = write_skill_folder(root, "outer", FIELDS, "B")
    outside = write_skill_folder(tmp_path, "outside", FIELDS, "B")
    (outer / "way-out").symlink_to(outside)
    for folder in (outside, root, root / ".." / "outside", outer / "way-out"):
        with pytest.raises(ValueError, match="outside of the skills directory"):
            remove_skill_folder(root, folder)
    (root / "plain").mkdir()
    with pytest.raises(FileNotFoundError):
        remove_skill_folder(root, root / "plain")
    assert names(root) == ["outer", "plain"]


def test_leftovers_of_a_crash_are_removed(tmp_path: Path) -> None:
    folder = write_skill_folder(tmp_path, "pdf", FIELDS, "B")
    (tmp_path / ".skill-registry-trash-1" / "x").mkdir(parents=True)
    (folder / ".skill-registry-2").touch()
    (tmp_path / ".other").mkdir()
    staged = tmp_path / ".other" / "staged"
    StagedSkill.of(staged, FIELDS, "B").write()
    remove_leftovers(tmp_path, staged)
    assert (names(tmp_path), names(folder), names(staged)) == ([".other", "pdf"], ["SKILL.md"], [])


def test_skills_are_staged_where_their_folders_inherit_the_same(tmp_path: Path) -> None:
    root, beside = tmp_path / "skills", tmp_path / "data" / "staged"
    root.mkdir()
    assert staging_place(root, beside) == beside
    root.chmod(0o2755)
    assert staging_place(root, beside) == root
    assert staging_place(root, Path("/proc/self/staged")) == root
    assert (names(root), names(beside)) == ([], [])
