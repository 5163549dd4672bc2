"""Hundreds of real skill folders, packed with common tools, are unpacked byte for byte."""

import random
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from registry.packages.package import read_folder, read_zip
from registry.packages.packing import pack
from registry.packages.refusal import PackageRefused
from registry.skill_folder import tree_digest
from support.unpackers import disagreements, tree

SKILLS = Path(__file__).parents[4] / "shared" / "data" / "skills"
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false"]

pytestmark = pytest.mark.skipif(not SKILLS.is_dir(), reason="needs the real skills beside the checkout")


def by_zip(folder: Path, archive: Path) -> None:
    subprocess.run(["zip", "-q", "-r", str(archive), "."], cwd=folder, check=True)


def by_streaming_zip(folder: Path, archive: Path) -> None:
    with archive.open("wb") as file, subprocess.Popen(["zip", "-q", "-r", "-", "."], cwd=folder, stdout=-1) as packing:
        assert packing.stdout is not None
        shutil.copyfileobj(packing.stdout, file)


def by_zipfile(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packing:
        for path in sorted(folder.rglob("*")):
            packing.write(path, path.relative_to(folder.parent))


def by_streaming_zipfile(folder: Path, archive: Path) -> None:
    with archive.open("wb") as file, subprocess.Popen(["cat"], stdin=-1, stdout=file) as reading:
        assert reading.stdin is not None  # a pipe, in which nobody can go back
        with zipfile.ZipFile(reading.stdin, "w", zipfile.ZIP_DEFLATED) as packing:
            for path in sorted(folder.rglob("*")):
                packing.write(path, path.relative_to(folder))


def by_git_archive(folder: Path, archive: Path) -> None:
    copy = archive.parent / "repository"
    shutil.copytree(folder, copy)
    (copy / ".git" / "info").mkdir(parents=True)
    for step in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "a"]):
        subprocess.run([*GIT, *step], cwd=copy, check=True)
    subprocess.run([*GIT, "archive", "--format=zip", "-o", str(archive), "HEAD"], cwd=copy, check=True)
    shutil.rmtree(copy)


def by_ourselves(folder: Path, archive: Path) -> None:
    with archive.open("wb") as file:
        pack(folder, file)


OTHERS = (by_streaming_zip, by_zipfile, by_streaming_zipfile, by_ourselves)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, bool]:
    """Return 450 whole folders, those with several files first, and whether the rules accept each."""
    everything = {path.parent for top in ("dotnet", "awesome-copilot") for path in (SKILLS / top).rglob("SKILL.md")}
    more = random.Random(7).sample(sorted({path.parent for path in (SKILLS / "openclaw").rglob("SKILL.md")}), 100)
    whole = sorted(everything, key=lambda folder: (-sum(1 for _ in folder.rglob("*")), folder))[:350]
    return {folder: accepted(folder, tmp_path_factory.mktemp("copies") / "copy") for folder in (*whole, *more)}


def accepted(folder: Path, staged: Path) -> bool:
    try:
        read_folder(folder, staged)
    except PackageRefused:
        return False
    shutil.rmtree(staged)
    return True


def check(folder: Path, good: bool, tool: Callable[[Path, Path], None], place: Path) -> None:
    archive, staged = place / "packed.zip", place / "staged"
    tool(folder, archive)
    if good:
        assert read_zip(archive, staged).digest == tree_digest(folder)
        shutil.rmtree(staged)
    else:
        with pytest.raises(PackageRefused):
            read_zip(archive, staged)
    archive.unlink()


def test_accepted_folders_are_unpacked_byte_for_byte(tmp_path: Path, folders: dict[Path, bool]) -> None:
    assert sum(folders.values()) > 400
    for folder, good in folders.items():
        check(folder, good, by_zip, tmp_path)


@pytest.mark.parametrize("tool", OTHERS, ids=lambda tool: tool.__name__)
def test_packages_of_other_tools_are_unpacked_byte_for_byte(
    tmp_path: Path, folders: dict[Path, bool], tool: Callable[[Path, Path], None]
) -> None:
    for folder in list(folders)[OTHERS.index(tool) :: len(OTHERS)]:
        check(folder, folders[folder], tool, tmp_path)


@pytest.mark.parametrize("tool", [by_zip, *OTHERS], ids=lambda tool: tool.__name__)
def test_other_programs_see_what_is_unpacked(
    tmp_path: Path, folders: dict[Path, bool], tool: Callable[[Path, Path], None]
) -> None:
    for number, folder in enumerate([folder for folder, good in folders.items() if good][::40]):
        place = tmp_path / str(number)
        place.mkdir()
        tool(folder, place / "packed.zip")
        read_zip(place / "packed.zip", place / "staged")
        assert disagreements(place / "packed.zip", tree(place / "staged"), place) == []


def test_packages_of_git_archive_are_unpacked_byte_for_byte(tmp_path: Path, folders: dict[Path, bool]) -> None:
    for folder in list(folders)[:30]:
        check(folder, folders[folder], by_git_archive, tmp_path)
