"""What an update brings: scripts and addresses that were not there before."""

from pathlib import Path

from registry.packages.update_diff import Footprint, update_notes


def folder(root: Path, name: str, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = root / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return root / name


def noted(root: Path, before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str | None]]:
    notes = update_notes(
        *(Footprint.of(folder(root, *files)) for files in (("before", before), ("after", after))), "1.0.0"
    )
    assert {note.kind for note in notes} <= {"quality_warning"}
    return [(note.rule, note.file) for note in notes]


def test_a_script_that_was_not_there(tmp_path: Path) -> None:
    before = {"SKILL.md": "x", "old.py": "1"}
    after = before | {"scripts/setup": "2", "more/run.sh": "3", "notes.md": "4", "old.py": "5"}
    assert noted(tmp_path, before, after) == [
        ("update-adds-script", "more/run.sh"),
        ("update-adds-script", "scripts/setup"),
    ]


def test_an_address_that_was_not_there(tmp_path: Path) -> None:
    before = {"SKILL.md": "See https://example.org/a."}
    after = {"SKILL.md": "See https://example.org/a, and (HTTPS://example.org/b).", "b.md": "https://example.org/a"}
    assert noted(tmp_path, before, after) == [("update-adds-url", "SKILL.md")]


def test_nothing_new_is_nothing_noted(tmp_path: Path) -> None:
    same = {"SKILL.md": "https://example.org", "scripts/a.sh": "curl https://example.org/x"}
    assert noted(tmp_path, same, same) == []


def test_addresses_behind_thousands_of_others_are_noted_as_such(tmp_path: Path) -> None:
    many = "\n".join(f"https://example.org/{number}" for number in range(2000))
    before = {"SKILL.md": many}
    assert noted(tmp_path, before, {"SKILL.md": f"{many}\nhttps://example.org/new"}) == [("update-adds-urls", None)]


def test_very_many_are_told_of_some(tmp_path: Path) -> None:
    after = {"SKILL.md": "\n".join(f"https://example.org/{number}" for number in range(5000))}
    assert len(noted(tmp_path, {"SKILL.md": "x"}, after)) == 20
