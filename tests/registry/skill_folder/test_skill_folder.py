import os
from pathlib import Path

import pytest

from registry.skill_folder import (
    SkillFolder,
    UnreadableSkill,
    find_skill_folders,
    qualified_id,
    read_skill_folder,
    suggest_id,
)

FULL = """---
name: pdf-forms
description: Fill PDF forms.
version: 1.0.0
license: MIT
compatibility: Needs Python
allowed-tools: Bash(git add:*) Read, Write
tags: [pdf, forms, pdf]
metadata:
  name: PDF forms
  version: "2.1.0"
  author: Ada
  capabilities: "fill forms, , read fields"
  source_url: https://example.com/x.git
  source_type: git
  source_branch: main
---

# PDF forms
"""


def make(folder: Path, text: str | bytes = "---\nname: a\ndescription: b\n---\nB\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def found(root: Path) -> list[str]:
    return [folder.relative_to(root).as_posix() for folder in find_skill_folders(root)]


def front(tmp_path: Path, lines: str) -> SkillFolder:
    return read_skill_folder(make(tmp_path / "some-skill", f"---\n{lines}\n---\nB\n"))


def test_folders_are_found_at_any_depth_in_order_but_not_in_a_skill(tmp_path: Path) -> None:
    for name in ("b", "a/x/y", "a/x/y/inner/deep", "c", ".hidden", "Z"):
        make(tmp_path / name)
    for name in (".git/a", "node_modules/a", "c/node_modules/b", ".skill-registry-12/a", "c/.skill-registry-12"):
        make(tmp_path / name)
    (tmp_path / "lower").mkdir()
    (tmp_path / "lower" / "Skill.MD").touch()
    assert found(tmp_path) == [".hidden", "Z", "a/x/y", "b", "c", "lower"]
    assert found(tmp_path / "absent") == []


def test_links_in_the_root_are_followed_once_a_target(tmp_path: Path) -> None:
    root, elsewhere = make(tmp_path / "root/real").parent, make(tmp_path / "elsewhere")
    make(elsewhere / "nested")
    for name, target in {
        "linked": elsewhere,
        "twice": elsewhere,
        "inside": root / "real",
        "up": tmp_path,
        "self": root / "self",
        "real/deeper": elsewhere,
        "nothing": tmp_path / "absent",
    }.items():
        (root / name).symlink_to(target)
    assert found(root) == ["linked", "real"]


def test_every_field_is_read(tmp_path: Path) -> None:
    skill = read_skill_folder(make(tmp_path / "pdf-forms", FULL))
    assert (skill.name, skill.description, skill.version) == ("PDF forms", "Fill PDF forms.", "2.1.0")
    assert (skill.author, skill.license, skill.needs.compatibility) == ("Ada", "MIT", "Needs Python")
    assert skill.needs.allowed_tools == ["Bash(git add:*)", "Read", "Write"]
    assert (skill.tags, skill.capabilities) == (["pdf", "forms"], ["fill forms", "read fields"])
    assert (skill.source_url, skill.source_type, skill.source_branch) == ("https://example.com/x.git", "git", "main")
    assert skill.metadata["author"] == "Ada"
    assert (skill.body, skill.skill_file) == ("# PDF forms\n", tmp_path / "pdf-forms" / "SKILL.md")
    assert skill.digest is not None
    assert skill.warnings == [
        "not in the agentskills.io format, some agents refuse it: version, tags (move it into metadata)"
    ]


def test_the_project_file_comes_first(tmp_path: Path) -> None:
    folder = make(tmp_path / "a", FULL)
    (folder / "skill-project.toml").write_text(
        '[metadata]\nname = "Forms"\nversion = "3.0"\ndescription = "From the project file"\nx = 1\n'
    )
    skill = read_skill_folder(folder)
    assert (skill.name, skill.version, skill.author) == ("Forms", "3.0.0", "Ada")
    assert skill.description == "From the project file"


@pytest.mark.parametrize(
    "content", [b"[metadata", b"\xff", b"a = " + b"[" * 5000, b"#" * 70_000, b"a" + b".a" * 30_000 + b"=1"]
)
def test_a_broken_project_file_is_left_out(tmp_path: Path, content: bytes) -> None:
    folder = make(tmp_path / "a", FULL)
    (folder / "skill-project.toml").write_bytes(content)
    skill = read_skill_folder(folder)
    assert skill.name == "PDF forms"
    assert "skill-project.toml" in skill.warnings[0]


@pytest.mark.parametrize(
    ("written", "version", "warned"),
    [
        ("1.10.0", "1.10.0", False),
        ("1.10", "1.10.0", False),
        ("", "1.0.0", False),
        ("1", "1.0.0", False),
        ("2.0", "2.0.0", False),
        ("v1.2.3", "1.2.3", False),
        ("01.2.3", "1.2.3", False),
        ("2024.1", "2024.1.0", False),
        ("2024-01-15", "2024.1.15", True),
        ("1.2.3-beta", "1.2.3", True),
        ("2.0.0+build.7", "2.0.0", True),
        ("1.x", "1.0.0", True),
        ("draft", "1.0.0", True),
        ("1.٢.3", "1.0.0", True),
        ("9999999999.0.0", "1.0.0", True),
    ],
)
def test_versions(tmp_path: Path, written: str, version: str, warned: bool) -> None:
    skill = front(tmp_path, f"name: some-skill\ndescription: b\nmetadata:\n  version: {written}")
    assert (skill.version, bool(skill.warnings)) == (version, warned)


@pytest.mark.parametrize(
    ("body", "description"),
    [
        ("# Title\n\nIt **does** [things](x.md)\nwith `care`.\n\nMore.", "It does things with care."),
        ("# Title\n\n```\ncode\n```\n\n![badge](x)\n\n> Quoted.\n", "Quoted."),
        ("# Title\n\n**Name:** x\n\n**Description:** Fetches comics\n", "Fetches comics"),
        ("# Title\n\n- one\n- two\n", "one; two"),
        ("# Only a title\n", "Only a title"),
        ("---\nname: x\n---\n", ""),
    ],
)
def test_without_a_description_the_body_gives_one(tmp_path: Path, body: str, description: str) -> None:
    skill = read_skill_folder(make(tmp_path / "My Skill", body))
    assert skill.description == description
    assert any("no description" in warning for warning in skill.warnings)


def test_without_a_name_the_folder_gives_one(tmp_path: Path) -> None:
    skill = read_skill_folder(make(tmp_path / "My Skill", "Some text."))
    assert skill.name == "My Skill"
    assert "there is no name; the folder's name is used" in skill.warnings


@pytest.mark.parametrize(
    ("lines", "warning"),
    [
        ("name: a\ndescription: " + "b" * 1025, "longer than 1,024"),
        ("name: a\u202eb\ndescription: b", "invisible"),
        ("name: a\u200bb\ndescription: b", "invisible"),
        ("name: " + "a" * 101 + "\ndescription: b", "longer than 64"),
        ("name: a\ndescription: b\nmetadata: c", "metadata"),
        ("name: a\x1bb\ndescription: b", "control"),
        ("name: a\ndescription: Use when: b", "line by line"),
    ],
)
def test_oddities_are_kept_and_told(tmp_path: Path, lines: str, warning: str) -> None:
    skill = front(tmp_path, lines)
    assert skill.description
    assert any(warning in text for text in skill.warnings)


def test_control_characters_never_get_through(tmp_path: Path) -> None:
    skill = front(tmp_path, 'name: "a\\0b"\ndescription: b\nmetadata: {"k\\e": ["\\a"]}')
    assert (skill.name, skill.metadata) == ("ab", {"k": [""]})


def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path) -> None:
    skill = read_skill_folder(make(tmp_path / "a", b"---\nname: caf\xe9 latte\ndescription: b\n---\n"))
    assert skill.name == "caf\ufffd latte"
    assert "invalid UTF-8" in skill.warnings[0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "SKILL.md is empty"),
        (b"\xef\xbb\xbf \r\n\t", "SKILL.md is empty"),
        (b"PK\x03\x04" + bytes(range(256)), "SKILL.md is not UTF-8 text"),
        (b"a" * (1024 * 1024 + 1), "SKILL.md is larger than 1,048,576 bytes"),
    ],
)
def test_unreadable_content_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableSkill) as refusal:
        read_skill_folder(make(tmp_path / "a", content))
    assert refusal.value.reason == reason


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("folder", "is not a regular file"), ("fifo", "is not a regular file"), ("link", "outside of the folder")],
)
def test_what_only_looks_like_a_skill_file_is_refused(tmp_path: Path, kind: str, reason: str) -> None:
    path = tmp_path / "a" / "SKILL.md"
    path.parent.mkdir()
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        (tmp_path / "secret").write_text(FULL)
        path.symlink_to("../secret")
    with pytest.raises(UnreadableSkill, match=reason):
        read_skill_folder(path.parent)
    assert found(tmp_path) == ["a"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    (make(tmp_path / "a") / "SKILL.md").chmod(0)
    with pytest.raises(UnreadableSkill, match="cannot be read: check its permissions"):
        read_skill_folder(tmp_path / "a")


@pytest.mark.parametrize(
    ("folder", "name", "skill_id"),
    [
        ("pdf-forms", "x", "pdf-forms"),
        ("PDF_Forms", "x", "pdf_forms"),
        ("a", "x", "a"),
        ("My Skill (v2)", "x", "my-skill-v2"),
        ("-Über--Café_", "x", "uber--cafe"),
        ("技能", "Web Search", "web-search"),
        ("x" * 70, "y", "x" * 64),
        ("٢٣", "技能", "skill-35d1d4d8"),
    ],
)
def test_ids(tmp_path: Path, folder: str, name: str, skill_id: str) -> None:
    path = make(tmp_path / folder, f"---\nname: {name}\ndescription: b\n---\n")
    assert suggest_id(path, tmp_path, read_skill_folder(path)) == skill_id


@pytest.mark.parametrize(
    ("folder", "qualified"),
    [
        ("acme/pdf", "acme/pdf"),
        ("acme/skills/pdf", "acme/pdf"),
        ("Acme Inc/.claude/skills/pdf", "acme-inc/pdf"),
        ("skills/pdf", "pdf-ffdd2aa0"),
        ("pdf", "pdf-c35b21d6"),
    ],
)
def test_qualified_ids(tmp_path: Path, folder: str, qualified: str) -> None:
    assert qualified_id(tmp_path / folder, tmp_path, "pdf") == qualified


REAL = Path(__file__).parents[4] / "shared" / "data" / "skills"


@pytest.mark.skipif(not REAL.is_dir(), reason="the collection of real skills is not here")
def test_every_real_skill_is_read() -> None:
    skills = [read_skill_folder(folder) for folder in find_skill_folders(REAL)]
    assert len(skills) == 2673
    assert sum(not skill.description for skill in skills) == 0
    agrees = [not skill.warnings for skill in skills]
    assert 0.3 < sum(agrees) / len(skills) < 0.9  # the checker of the format refuses more than half of them
