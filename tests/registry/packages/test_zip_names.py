"""Names in a zip: only harmless paths that mean the same on every system are accepted."""

from pathlib import Path

import pytest

from support.zips import Item, refused_for, skill_zip

REFUSED = {
    "../../evil.txt": "path-traversal",
    "a/../../b": "path-traversal",
    "a/..": "path-traversal",
    "./x": "path-traversal",
    "a//b": "path-traversal",
    "": "path-traversal",
    "/etc/x": "path-absolute",
    "C:/x": "path-absolute",
    "\\\\srv\\x": "path-absolute",
    "..\\..\\evil": "path-backslash",
    "a\0.py": "path-control",
    "a\nb": "path-control",
    "a\x1b[31m": "path-control",
    "a\u2028b": "path-control",
    "a\u202egnp.exe": "path-hidden",
    "a\u200bb": "path-hidden",
    "a\U000e0041": "path-hidden",
    "CON": "path-windows",
    "con.txt": "path-windows",
    "x/LPT1.md": "path-windows",
    "com¹": "path-windows",
    "a.": "path-windows",
    "b ": "path-windows",
    "c. /d": "path-windows",
    "a:stream": "path-windows",
    "what?": "path-windows",
    "a/.git/hooks/x": "nested-git",
    ".git/config": "nested-git",
    ".GIT": "nested-git",
    ".git": "nested-git",
    "git~1/config": "nested-git",
    "x" * 256: "path-length",
    "/".join(["x" * 99] * 6): "path-length",
    "a/" * 16 + "b": "path-depth",
    ".skill-registry-12/evil.py": "path-reserved",
}


@pytest.mark.parametrize(("name", "rule"), REFUSED.items(), ids=range(len(REFUSED)))
def test_an_unsafe_name_is_refused(tmp_path: Path, name: str, rule: str) -> None:
    assert rule in refused_for(skill_zip(Item(name.encode(), b"x")), tmp_path)


def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    assert refused_for(skill_zip(Item(b"caf\xe9.md", b"x")), tmp_path) == {"path-control"}


def test_a_path_thousands_of_folders_deep_is_refused(tmp_path: Path) -> None:
    assert "path-depth" in refused_for(skill_zip(Item(b"a/" * 2000 + b"b", b"x")), tmp_path)


@pytest.mark.parametrize(
    "name", ["..a", "a..b", ".gitignore", "console.md", "中文/é.md", "a b.txt", "x" * 255, "a/" * 15 + "b", "com10"]
)
def test_an_ordinary_name_is_accepted(tmp_path: Path, name: str) -> None:
    assert refused_for(skill_zip(Item(name.encode(), b"x")), tmp_path) == set()
    assert (tmp_path / "staged" / name).read_bytes() == b"x"


def test_all_bad_names_are_reported_at_once(tmp_path: Path) -> None:
    found = refused_for(skill_zip(Item(b"/x"), Item(b"a/../b"), Item(b"nul")), tmp_path)
    assert found == {"path-absolute", "path-traversal", "path-windows"}
