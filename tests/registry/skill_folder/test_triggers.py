"""When a skill is used is read in every form that authors write it beside the description."""

import pytest

from registry.parsing.frontmatter import read
from registry.skill_folder.reading import runtime_needs


def triggers(lines: str) -> list[str]:
    return runtime_needs(read(f"---\nname: a\n{lines}\n---\n").fields, {}).triggers


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("when_to_use: When a deploy fails, or hangs", ["When a deploy fails, or hangs"]),
        ("when-to-use: |\n  - a deploy fails\n  - it hangs", ["a deploy fails", "it hangs"]),
        ("read_when:\n  - Looking up cat breeds\n  - Building bots", ["Looking up cat breeds", "Building bots"]),
        ("triggers: [track habit, habit streak]", ["track habit", "habit streak"]),
        ("trigger: multi llm", ["multi llm"]),
        ("keywords: x, twitter , X", ["x", "twitter"]),
        ("metadata:\n  triggers: SQL tuning, EXPLAIN plan", ["SQL tuning", "EXPLAIN plan"]),
        ('metadata: {"keywords": ["a b"]}\ntrigger-phrases: c', ["c", "a b"]),
        ('triggers:\n  - pattern: "股票|stock"\n    description: about shares', ["股票", "stock", "about shares"]),
        ("triggers: []\nkeywords: ''", []),
        ("description: Use when a deploy fails", []),
    ],
)
def test_every_form(lines: str, expected: list[str]) -> None:
    assert triggers(lines) == expected


def test_they_are_bounded() -> None:
    assert triggers(f"triggers: [{', '.join(f'word {number}' for number in range(5000))}]") == [
        f"word {number}" for number in range(30)
    ]
    long = [f"{number} {'x' * 180}" for number in range(9)]
    assert triggers(f"read_when: [{', '.join(long)}]") == long[:5]
    assert triggers(f"when_to_use: {'long ' * 5000}") == [("long " * 40).strip()]
