"""The bin keeps folders of removed skills for some days, within a size, also in another file system."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from registry.skill_folder import bin as bin_module
from registry.skill_folder import tree_digest
from registry.skill_folder.bin import BinEntry, SkillBin

START = datetime.datetime(2026, 11, 1, 12, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime.datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "skills"
    made.mkdir()
    return made


@pytest.fixture(params=["same file system", "another file system"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "same file system":
        yield tmp_path / "data" / "bin"
        return
    with TemporaryDirectory(dir="/dev/shm") as folder:
        assert Path(folder).stat().st_dev != tmp_path.stat().st_dev
        yield Path(folder) / "bin"


def skill(root: Path, name: str, size: int = 10) -> BinEntry:
    folder = root / name
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\n---\n")
    (folder / "scripts" / "run.sh").write_text("x" * size)
    (folder / "scripts" / "run.sh").chmod(0o755)
    (folder / "latest").symlink_to("scripts")
    return BinEntry(id=name, folder=name)


def removed(found: SkillBin) -> list[str]:
    return [entry.id for entry in found.entries()]


def test_a_folder_comes_back_as_it_was(root: Path, place: Path, clock: Clock) -> None:
    kept = SkillBin(place, 30, clock)
    entry = skill(root, "anvil")
    before = tree_digest(root / "anvil")
    with kept.removing(root, entry):
        assert not (root / "anvil").exists()
    assert list(root.iterdir()) == []
    assert [(one.id, one.removed_at) for one in kept.entries()] == [("anvil", "2026-11-01T12:00:00.000Z")]
    with kept.restoring(root, "anvil"):
        pass
    assert tree_digest(root / "anvil") == before
    assert (root / "anvil" / "scripts" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (root / "anvil" / "latest").readlink() == Path("scripts")
    assert [path.name for path in root.iterdir()] == ["anvil"]
    assert list(place.iterdir()) == []


def test_a_failure_changes_nothing(root: Path, place: Path, clock: Clock) -> None:
    kept = SkillBin(place, 30, clock)
    entry = skill(root, "anvil")
    with pytest.raises(RuntimeError), kept.removing(root, entry):
        raise RuntimeError
    assert (root / "anvil" / "SKILL.md").is_file()
    assert list(place.iterdir()) == []
    with kept.removing(root, entry):
        pass
    with pytest.raises(RuntimeError), kept.restoring(root, "anvil"):
        raise RuntimeError
    assert list(root.iterdir()) == []
    (root / "anvil").mkdir()
    with pytest.raises(FileExistsError), kept.restoring(root, "anvil"):
        pass
    assert removed(kept) == ["anvil"]


def test_a_link_comes_back_as_a_link(root: Path, place: Path, clock: Clock, tmp_path: Path) -> None:
    kept = SkillBin(place, 30, clock)
    skill(tmp_path, "elsewhere")
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    with kept.removing(root, BinEntry(id="linked", folder="linked")):
        pass
    assert (tmp_path / "elsewhere" / "SKILL.md").is_file()
    with kept.restoring(root, "linked"):
        pass
    assert (root / "linked").readlink() == tmp_path / "elsewhere"


def test_the_last_of_several_comes_back_first(root: Path, place: Path, clock: Clock) -> None:
    kept = SkillBin(place, 30, clock)
    for size in (1, 2, 3):
        with kept.removing(root, skill(root, "anvil", size)):
            pass
        clock.now += DAY
    with kept.restoring(root, "anvil"):
        pass
    assert (root / "anvil" / "scripts" / "run.sh").stat().st_size == 3
    with pytest.raises(LookupError), kept.restoring(root, "hammer"):
        pass
    assert removed(kept) == ["anvil", "anvil"]


def test_entries_leave_when_they_are_old_or_too_large(
    root: Path, place: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = SkillBin(place, 30, clock)
    for name in ("first", "second", "third"):
        with kept.removing(root, skill(root, name, 1000)):
            pass
        clock.now += DAY
    monkeypatch.setattr(bin_module, "MOST_BYTES", 2500)
    kept.empty()
    assert removed(kept) == ["third", "second"]
    clock.now = START + 31 * DAY + DAY / 2
    kept.empty()
    assert removed(kept) == ["third"]
    monkeypatch.setattr(bin_module, "MOST_BYTES", 10)
    with kept.removing(root, skill(root, "large", 1000)):
        pass
    assert removed(kept) == ["large"]
    assert len(list(place.iterdir())) == 1


def test_a_bin_for_no_days_keeps_nothing(root: Path, place: Path, clock: Clock) -> None:
    kept = SkillBin(place, 0, clock)
    with kept.removing(root, skill(root, "anvil")):
        pass
    assert list(root.iterdir()) == []
    assert not place.exists()


def test_what_is_no_entry_is_passed_over(root: Path, place: Path, clock: Clock) -> None:
    kept = SkillBin(place, 30, clock)
    with kept.removing(root, skill(root, "anvil")):
        pass
    (place / "notes.txt").write_text("no entry")
    (place / "empty").mkdir()
    (place / "damaged").mkdir()
    (place / "damaged" / "entry.json").write_text("{")
    assert removed(kept) == ["anvil"]
