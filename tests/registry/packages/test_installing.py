"""What is installed is what a scan would read: only what is unsafe is refused, and generated files are left out."""

import io
from pathlib import Path

import pytest

from registry.packages.package import Package, read_folder, read_zip
from registry.packages.refusal import PackageRefused
from registry.skill_folder import has_digest, tree_digest
from support.zips import SKILL, plain_zip

GENERATED = [
    "__pycache__/a.pyc",
    ".DS_Store",
    "Thumbs.db",
    "node_modules/x/y.js",
    ".venv/z",
    "__MACOSX/._a",
    ".git/HEAD",
]


def of_folder(tmp_path: Path, files: dict[str, bytes], named: str = "from-origin") -> Package:
    for name, data in files.items():
        place = tmp_path / "origin" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return read_folder(tmp_path / "origin", tmp_path / "staged", named=named)


@pytest.mark.parametrize(
    ("front", "name", "title", "version"),
    [
        ("name: a-b\ndescription: Reviews: style.\nversion: '1.0'", "a-b", "a-b", "1.0.0"),
        ("name: UnoCSS\ndescription: b\nversion: v2.3", "from-origin", "UnoCSS", "2.3.0"),
        ("name: Lightning CSS\ndescription: b", "from-origin", "Lightning CSS", "1.0.0"),
        ("name: 会议纪要\ndescription: b", "from-origin", "会议纪要", "1.0.0"),
        ("name: a_b\ndescription: b", "a_b", "a_b", "1.0.0"),
        ("description: b", "from-origin", "from-origin", "1.0.0"),
        ("name: a\ndescription: b\nmetadata: some text", "a", "a", "1.0.0"),
        ("name: a\nname: b", "a", "a", "1.0.0"),
        ("name: [a]\ndescription: {en: b}", "a", "a", "1.0.0"),
        (f"name: a\ndescription: b\nn: {'x' * 20_000}", "a", "a", "1.0.0"),
    ],
)
def test_odd_metadata_is_installed(tmp_path: Path, front: str, name: str, title: str, version: str) -> None:
    package = of_folder(tmp_path, {"SKILL.md": f"---\n{front}\n---\nBody.\n".encode()})
    assert (package.name, package.title, package.version) == (name, title, version)
    with pytest.raises(PackageRefused):
        package = read_folder(tmp_path / "origin", tmp_path / "strict")


def test_a_reserved_name_gets_an_id_of_its_own(tmp_path: Path) -> None:
    package = of_folder(tmp_path, {"SKILL.md": b"---\nname: search\ndescription: b\n---\n"})
    assert (package.name, package.title) == ("search-skill", "search")


@pytest.mark.parametrize("data", [b"# Only text\n", "---\nname: a\n---\n".encode("utf-16"), b"---\rname: a\r---\rb"])
def test_odd_encodings_and_no_front_matter_are_installed(tmp_path: Path, data: bytes) -> None:
    assert of_folder(tmp_path, {"SKILL.md": data}).name in ("a", "from-origin")


@pytest.mark.parametrize("named", ["会议", "Ünï cödé", "UPPER", "x" * 300, "..", ""])
def test_an_id_is_derived_from_any_name(tmp_path: Path, named: str) -> None:
    front = "---\nname: 会议\ndescription: b\n---\n"
    names = {of_folder(tmp_path / place, {"SKILL.md": front.encode()}, named or "skill").name for place in "ab"}
    assert len(names) == 1
    assert next(iter(names)).isascii()


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_a_skill_file_in_another_case_gets_its_name(tmp_path: Path, name: str) -> None:
    package = of_folder(tmp_path, {name: SKILL})
    assert [path.name for path in package.folder.iterdir()] == ["SKILL.md"]
    assert package.digest == tree_digest(package.folder)
    with pytest.raises(PackageRefused, match=f"rename {name} to SKILL.md"):
        read_folder(tmp_path / "origin", tmp_path / "strict")


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_generated_files_are_not_installed(tmp_path: Path, kind: str) -> None:
    files = {"SKILL.md": SKILL, "scripts/run.py": b"1", **dict.fromkeys(GENERATED, b"x")}
    if kind == "zip":
        package = read_zip(io.BytesIO(plain_zip(files)), tmp_path / "staged", named="a")
    else:
        package = of_folder(tmp_path, files)
    assert [file.path for file in package.files] == ["SKILL.md", "scripts/run.py"]
    assert package.digest == tree_digest(package.folder)
    assert (package.packed_digest == package.digest) == (kind == "folder")


def test_generated_files_change_no_digest(tmp_path: Path) -> None:
    package = of_folder(tmp_path, {"SKILL.md": SKILL})
    (package.folder / "scripts" / "__pycache__").mkdir(parents=True)
    (package.folder / "scripts" / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"x")
    (package.folder / ".DS_Store").write_bytes(b"x")
    assert has_digest(package.folder, package.digest)
    (package.folder / "new.md").write_bytes(b"x")
    assert not has_digest(package.folder, package.digest)


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        ({"run": b"\x7fELF"}, "program"),
        ({"key.pem": b"-----BEGIN RSA PRIVATE KEY-----\n" + b"A" * 80}, "private-key"),
        ({"a:b.md": b"x"}, "path-windows"),
    ],
)
def test_what_is_unsafe_is_refused(tmp_path: Path, files: dict[str, bytes], rule: str) -> None:
    with pytest.raises(PackageRefused) as refused:
        of_folder(tmp_path, {"SKILL.md": SKILL, **files})
    assert rule in {finding.rule for finding in refused.value.findings}
