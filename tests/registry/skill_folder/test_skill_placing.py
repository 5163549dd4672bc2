"""Whole folders put in place: the old state or the new one, also when what follows fails or the process is killed."""

from pathlib import Path

import pytest

from registry.skill_folder import placing_skill_folder, remove_leftovers, replacing_skill_folder
from support.servers import write_skill


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return a staged folder and the place it is for."""
    return write_skill(tmp_path, ".skill-registry-install-1/pdf", "The new one."), tmp_path / "pdf"


def holds(folder: Path, text: str) -> bool:
    return text in (folder / "SKILL.md").read_text()


def test_a_folder_is_moved_or_stays(folders: tuple[Path, Path]) -> None:
    staged, place = folders
    with pytest.raises(ZeroDivisionError), placing_skill_folder(staged, place):
        raise ZeroDivisionError
    assert (staged.exists(), place.exists()) == (True, False)
    with placing_skill_folder(staged, place):
        assert holds(place, "The new one.")
    assert not staged.exists()


def test_what_is_there_is_not_placed_over(folders: tuple[Path, Path]) -> None:
    staged, place = folders
    write_skill(place.parent, "pdf", "The old one.")
    with pytest.raises(FileExistsError), placing_skill_folder(staged, place):
        pass
    assert holds(place, "The old one.")


def test_a_replaced_folder_comes_back_when_the_block_fails(folders: tuple[Path, Path]) -> None:
    staged, place = folders
    write_skill(place.parent, "pdf", "The old one.")
    with pytest.raises(ZeroDivisionError), replacing_skill_folder(staged, place):
        assert holds(place, "The new one.")
        raise ZeroDivisionError
    assert (holds(place, "The old one."), holds(staged, "The new one.")) == (True, True)
    with replacing_skill_folder(staged, place):
        pass
    assert [path.name for path in place.parent.iterdir() if "replaced" in path.name] == []


def test_a_crash_between_the_two_moves_loses_nothing(folders: tuple[Path, Path], tmp_path: Path) -> None:
    _, place = folders
    write_skill(place.parent, ".skill-registry-replaced-pdf", "The old one.")
    remove_leftovers(place.parent, tmp_path / "staged")
    assert holds(place, "The old one.")
    write_skill(place.parent, ".skill-registry-replaced-pdf", "An older one.")
    remove_leftovers(place.parent, tmp_path / "staged")
    assert (holds(place, "The old one."), len(list(place.parent.iterdir()))) == (True, 1)
