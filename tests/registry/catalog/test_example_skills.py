from pathlib import Path

import pytest

from registry.parsing.frontmatter import read
from registry.skill_folder import find_skill_folders, read_skill_folder, suggest_id

EXAMPLES = Path(__file__).parents[3] / "examples" / "skills"
FOLDERS = sorted(find_skill_folders(EXAMPLES))


def test_there_is_a_dozen() -> None:
    assert len(FOLDERS) == 12


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_example_keeps_the_rules(folder: Path) -> None:
    skill = read_skill_folder(folder)
    assert (skill.name, skill.warnings) == (folder.name, [])
    assert suggest_id(folder, EXAMPLES, skill) == folder.name
    assert 10 <= len(skill.description) <= 500
    assert "Use when" in skill.description
    assert (skill.license, skill.author) == ("Apache-2.0", "Skill Registry authors")
    assert skill.tags
    assert skill.capabilities
    assert read((folder / "SKILL.md").read_text(), strict=True).body == skill.body


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_file_an_example_names_is_there(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text()
    for path in (path for path in folder.rglob("*") if path.is_file() and path.name != "SKILL.md"):
        assert path.relative_to(folder).as_posix() in text
        compile(path.read_text(), path.name, "exec") if path.suffix == ".py" else None
