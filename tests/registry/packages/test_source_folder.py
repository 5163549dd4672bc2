"""A folder is subject to the rules for zips, and is copied without following links."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from registry.packages.limits import DEFAULT_LIMITS, PackageLimits
from registry.packages.package import read_folder
from registry.packages.refusal import PackageRefused
from registry.packages.source_folder import SourceFolder
from registry.packages.staging import stage, staging
from support.zips import SKILL


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(SKILL)
    return folder


def refused(source: Path, limits: PackageLimits = DEFAULT_LIMITS) -> set[str]:
    staged = source.parent / "staged"
    with pytest.raises(PackageRefused) as refusal:
        read_folder(source, staged, limits)
    assert not staged.exists()
    return {finding.rule for finding in refusal.value.findings}


@pytest.mark.parametrize("target", ["/etc/passwd", "SKILL.md", "nowhere", "/etc", "."])
def test_links_are_refused(source: Path, target: str) -> None:
    (source / "scripts/link").symlink_to(target)
    assert refused(source) == {"link"}


def test_a_linked_skill_file_is_refused(source: Path) -> None:
    (source / "SKILL.md").unlink()
    (source / "SKILL.md").symlink_to("/etc/passwd")
    assert refused(source) == {"link"}


def test_pipes_and_sockets_are_refused(source: Path) -> None:
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(source / "socket"))
    assert refused(source) == {"special-file"}


def test_names_and_limits_are_the_same_as_for_a_zip(source: Path) -> None:
    for name in ("a\\b", "nul", "A", "a", "x\u202e"):
        (source / name).touch()
    assert refused(source) == {"path-backslash", "path-windows", "path-hidden", "duplicate-name"}


def test_a_name_that_is_not_utf8_is_refused(source: Path) -> None:
    Path(os.fsdecode(os.fsencode(source) + b"/caf\xe9")).touch()
    assert refused(source) == {"path-control"}


def test_limits_are_enforced(source: Path) -> None:
    (source / "scripts/a").write_bytes(b"x" * 1000)
    assert refused(source, PackageLimits(entries=2)) == {"too-many-entries"}
    assert refused(source, PackageLimits(file_bytes=999)) == {"file-too-large"}
    assert refused(source, PackageLimits(total_bytes=1000)) == {"too-large"}


def test_a_deep_folder_is_refused_without_being_walked(source: Path) -> None:
    (source / "/".join("d" * 300)).mkdir(parents=True)
    assert refused(source) == {"path-depth"}


def test_the_git_folder_of_a_checkout_is_skipped(source: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(source)], check=True)
    (source / "scripts/run.sh").write_text("true\n")
    (source / "scripts/run.sh").chmod(0o700)
    package = read_folder(source, tmp_path / "staged")
    assert [file.path for file in package.files] == ["SKILL.md", "scripts/run.sh"]
    assert (package.folder / "scripts/run.sh").stat().st_mode & 0o777 == 0o755


def test_a_nested_repository_is_refused(source: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(source / "scripts/inner")], check=True)
    assert refused(source) == {"nested-git"}


def test_a_folder_that_changes_while_it_is_read_is_refused(source: Path, tmp_path: Path) -> None:
    seen = SourceFolder(source, DEFAULT_LIMITS)
    (source / "SKILL.md").unlink()
    (source / "SKILL.md").symlink_to("/etc/passwd")
    with pytest.raises(PackageRefused, match="changed"), staging(tmp_path / "staged") as staged:
        seen.for_each(lambda entry, chunks: stage(staged, entry, chunks))
    assert not (tmp_path / "staged").exists()
