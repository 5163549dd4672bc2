import pytest

from registry.domain.generated_files import is_generated, is_generated_path
from registry.domain.version_text import version_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", "1.0.0"),
        ("1.2", "1.2.0"),
        ("v1.2", "1.2.0"),
        ("V2.3.4", "2.3.4"),
        ("2024.1", "2024.1.0"),
        ("2024-01-15", "2024.1.15"),
        ("2.0.0-beta.1", "2.0.0"),
        ("1.2.3+build", "1.2.3"),
        ("1.2.3.4", "1.2.3"),
        ("version 1.4 (draft)", "1.4.0"),
        ("latest", None),
        ("", None),
        ("9999999999.0.0", None),
        ("9" * 100_000, None),
    ],
)
def test_versions_of_authors_become_three_numbers(text: str, number: str | None) -> None:
    assert version_number(text) == number


@pytest.mark.parametrize(
    "name", ["__pycache__", "x.PYC", ".DS_Store", "Thumbs.db", "node_modules", ".venv", "__MACOSX", ".git", "._a", "a~"]
)
def test_what_tools_leave_behind_is_generated(name: str) -> None:
    assert is_generated(name)
    assert is_generated_path(f"scripts/{name}/deep.txt")


@pytest.mark.parametrize("name", ["SKILL.md", "a.py", "git", "venv", "cache", ".gitignore", ".env", "node_modules.md"])
def test_what_authors_write_is_not_generated(name: str) -> None:
    assert not is_generated(name)
