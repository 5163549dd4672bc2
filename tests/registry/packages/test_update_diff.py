"""An update is compared with the version before: new scripts and URLs are reported."""

from pathlib import Path

from registry.packages.update_diff import Footprint, update_findings


def folder(root: Path, name: str, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = root / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return root / name


def findings_of(root: Path, before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str | None]]:
    old, new = Footprint.of(folder(root, "before", before)), Footprint.of(folder(root, "after", after))
    findings = update_findings(old, new, "1.0.0")
    assert {finding.kind for finding in findings} <= {"quality_warning"}
    return [(finding.rule, finding.file) for finding in findings]


def test_a_new_script_is_reported(tmp_path: Path) -> None:
    before = {"SKILL.md": "x", "old.py": "1"}
    after = before | {"scripts/setup": "2", "more/run.sh": "3", "notes.md": "4", "old.py": "5"}
    assert findings_of(tmp_path, before, after) == [
        ("update-adds-script", "more/run.sh"),
        ("update-adds-script", "scripts/setup"),
    ]


def test_a_new_url_is_reported(tmp_path: Path) -> None:
    before = {"SKILL.md": "See https://example.org/a."}
    after = {"SKILL.md": "See https://example.org/a, and (HTTPS://example.org/b).", "b.md": "https://example.org/a"}
    assert findings_of(tmp_path, before, after) == [("update-adds-url", "SKILL.md")]


def test_no_additions_give_no_findings(tmp_path: Path) -> None:
    same = {"SKILL.md": "https://example.org", "scripts/a.sh": "curl https://example.org/x"}
    assert findings_of(tmp_path, same, same) == []


def test_more_urls_than_are_compared_are_reported(tmp_path: Path) -> None:
    many = "\n".join(f"https://example.org/{number}" for number in range(2000))
    before = {"SKILL.md": many}
    after = {"SKILL.md": f"{many}\nhttps://example.org/new"}
    assert findings_of(tmp_path, before, after) == [("update-adds-urls", None)]


def test_the_number_of_findings_is_bounded(tmp_path: Path) -> None:
    after = {"SKILL.md": "\n".join(f"https://example.org/{number}" for number in range(5000))}
    assert len(findings_of(tmp_path, {"SKILL.md": "x"}, after)) == 20
