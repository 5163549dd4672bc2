"""What the locks of `npx skills` name, in the forms that projects have them."""

import json
from pathlib import Path

import pytest

from registry.project.skills_json import OtherSkill, is_other_lock, skills_in


def lock(folder: Path, skills: object, name: str = "skills-lock.json") -> Path:
    path = folder / name
    path.write_text(json.dumps({"version": 1, "skills": skills}))
    return path


@pytest.mark.parametrize(
    ("entry", "address"),
    [
        (
            {
                "source": "vendor/skills",
                "sourceType": "github",
                "skillPath": "skills/pdf/SKILL.md",
                "computedHash": "0",
            },
            "https://github.com/vendor/skills#HEAD:skills/pdf",
        ),
        (
            {"source": "vendor/skills", "sourceType": "github", "skillPath": ".agents/skills/pdf"},
            "https://github.com/vendor/skills#HEAD:.agents/skills/pdf",
        ),
        (
            {"source": "vendor/skills", "sourceType": "github", "skillPath": "SKILL.md"},
            "https://github.com/vendor/skills",
        ),
        ({"source": "vendor/skills", "sourceType": "github"}, "https://github.com/vendor/skills@pdf"),
        (
            {"source": "vendor/skills", "sourceType": "github", "ref": "v1.2"},
            "https://github.com/vendor/skills#v1.2@pdf",
        ),
        (
            {
                "source": "vendor/skills",
                "sourceType": "github",
                "sourceUrl": "https://github.com/vendor/skills.git",
                "ref": "feat/ocr",
                "skillPath": "a b/pdf/skill.md",
                "skillFolderHash": "",
            },
            "https://github.com/vendor/skills#feat/ocr:a%20b/pdf",
        ),
        (
            {"source": "group/sub/skills", "sourceType": "gitlab", "skillPath": "pdf/SKILL.md"},
            "https://gitlab.com/group/sub/skills#HEAD:pdf",
        ),
        (
            {"source": "https://git.example.com/a/b.git", "sourceType": "git", "skillPath": "pdf/SKILL.md"},
            "https://git.example.com/a/b#HEAD:pdf",
        ),
        ({"source": "git@git.example.com:a/b.git", "sourceType": "git"}, "git@git.example.com:a/b.git@pdf"),
        ({"source": "/srv/skills/pdf", "sourceType": "local"}, "/srv/skills/pdf"),
    ],
)
def test_an_entry_is_an_address_to_install(tmp_path: Path, entry: object, address: str) -> None:
    assert list(skills_in(lock(tmp_path, {"pdf": entry}))) == [OtherSkill("pdf", address)]


def test_the_folder_of_a_local_skill_is_seen_from_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    entry = {"source": "./vendored", "sourceType": "local", "skillPath": "pdf/SKILL.md"}
    lock(tmp_path / "project", {"pdf": entry})
    monkeypatch.chdir(tmp_path)
    (skill,) = skills_in(Path("project/skills-lock.json"))
    assert skill.address == "./project/vendored/pdf"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (
            {"source": "bun.sh", "sourceType": "well-known"},
            "comes from the site bun.sh: 'skill-registry sources add",
        ),
        (
            {"source": "docs", "sourceType": "well-known", "sourceUrl": "https://docs.example.com/x"},
            "add NAME https://docs.example.com'",
        ),
        ({"source": "some-package", "sourceType": "node_modules"}, "the npm package some-package"),
        ({"sourceType": "github"}, "it comes from the site"),
        ({"source": 5}, "its entry cannot be read"),
        ([], "its entry cannot be read"),
    ],
)
def test_an_entry_without_an_address_says_why_and_stops_no_other(tmp_path: Path, entry: object, reason: str) -> None:
    path = lock(tmp_path, {"odd": entry, "pdf": {"source": "vendor/skills", "sourceType": "github"}})
    odd, pdf = skills_in(path)
    assert (odd.address, reason in odd.reason) == (None, True), odd
    assert pdf.address == "https://github.com/vendor/skills@pdf"


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"skills": []}', '{"version": 1}', '{"skills": {"a": ' + "[" * 5000, "\ufeff"]
)
def test_another_file_of_that_name_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "skills-lock.json"
    path.write_text(text)
    assert is_other_lock(str(path))
    with pytest.raises(ValueError, match=r"is no lock of 'npx skills'"):
        list(skills_in(path))
    assert not is_other_lock(str(tmp_path))
