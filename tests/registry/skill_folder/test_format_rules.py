from pathlib import Path

import pytest

from registry.parsing.frontmatter import read
from registry.skill_folder import UnreadableSkill, read_skill_folder
from registry.skill_folder.format_rules import format_warnings


def warned(lines: str, folder: str | None = "a") -> list[str]:
    return [field for field, _ in format_warnings(read(f"---\n{lines}\n---\n").fields, folder)]


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        ("name: a\ndescription: b\nlicense: MIT\ncompatibility: c\nmetadata: {d: e}\nallowed-tools: Read", []),
        ("name: a\nallowed-tools: [Read, Write]", []),
        ("name: a\nversion: 1\nemoji: x", ["version"]),
        ("name: A", ["name", "name"]),
        ("name: b", ["name"]),
        ("name: [a]", ["name"]),
        ("name: a--b", ["name", "name"]),
        ("name: a\ndescription: [x]", ["description"]),
        (f"name: a\ncompatibility: {'c' * 501}", ["compatibility"]),
        ("name: a\ncompatibility: [c]", ["compatibility"]),
        ("name: a\nallowed-tools: {a: b}", ["allowed-tools"]),
    ],
)
def test_each_rule_of_the_format_is_a_warning(lines: str, fields: list[str]) -> None:
    assert warned(lines) == fields


def test_letters_of_any_script_are_a_name_of_the_format() -> None:
    assert warned("name: 会议", "会议") == []
    assert warned("name: b", None) == []


def test_a_pointer_of_git_lfs_is_told(tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    (tmp_path / "deck").mkdir()
    (tmp_path / "deck" / "SKILL.md").write_text("---\nname: deck\ndescription: Makes decks.\n---\n")
    (tmp_path / "deck" / "base.pptx").write_text(pointer)
    assert read_skill_folder(tmp_path / "deck").warnings == [
        "base.pptx is a pointer of git LFS, not the file: its content is not fetched; get it with git lfs"
    ]
    (tmp_path / "deck" / "SKILL.md").write_text(pointer)
    with pytest.raises(UnreadableSkill, match="is a pointer of git LFS"):
        read_skill_folder(tmp_path / "deck")
