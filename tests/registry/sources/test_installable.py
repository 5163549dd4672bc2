"""What cannot be installed says so where it is listed, and everything else is installed."""

from pathlib import Path

import pytest

from registry.domain.origins import LocalOrigin
from registry.packages.package import read_folder
from registry.sources.tree import read_tree

REAL = Path(__file__).parents[4] / "shared" / "data" / "skills"


def write(root: Path, name: str, **files: bytes) -> None:
    (root / name).mkdir(parents=True)
    (root / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does: {name}.\nversion: 1.0\n---\n")
    for path, data in files.items():
        (root / name / path).write_bytes(data)


def test_each_listed_skill_says_whether_it_can_be_installed(tmp_path: Path) -> None:
    write(tmp_path / "tree", "good", note=b"text")
    write(tmp_path / "tree", "program", run=b"\x7fELF")
    write(tmp_path / "tree", "linked")
    (tmp_path / "tree" / "linked" / "passwd").symlink_to("/etc/passwd")
    listing = read_tree(tmp_path / "tree", lambda place: LocalOrigin(path=place))
    reasons = {skill.id: skill.not_installable for skill in listing.skills}
    assert {skill.id: skill.installable for skill in listing.skills} == {
        "good": True,
        "program": False,
        "linked": False,
    }
    assert reasons["good"] is None
    assert "executable" in str(reasons["program"])
    assert "link" in str(reasons["linked"])


@pytest.mark.skipif(not REAL.is_dir(), reason="the collection of real skills is not here")
def test_a_sample_of_real_skills_is_installed_as_listed(tmp_path: Path) -> None:
    root = REAL / "awesome-copilot"
    listed = read_tree(root, lambda place: LocalOrigin(path=place)).skills[::10]
    assert len(listed) > 30
    for skill in listed:
        assert isinstance(skill.origin, LocalOrigin)
        folder = root / skill.origin.path
        package = read_folder(folder, tmp_path / skill.id.replace("/", "."), named=folder.name)
        assert (package.title, package.version) == (skill.name, skill.version)
        assert skill.installable
