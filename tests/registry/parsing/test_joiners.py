"""Invisible characters stay where a script needs them, and are told of everywhere else."""

import pytest

from registry.cli.console import printable
from registry.parsing.joiners import without_joiners

NEEDED = (
    "می\u200cخواهم",
    "क्\u200dष",
    "👩\u200d👩\u200d👧",
    "🏳\ufe0f\u200d🌈",
    "👍🏽\u200d🔧",
    "🏴\U000e0067\U000e0062\U000e007f",
)
NOT_NEEDED = (
    "pass\u200cword",
    "a\u200d",
    "می\u200c\u200dخ",
    "👩\u200dx",
    "متن\u202eمتن",
    "می\u200c\u0984\u200dخ",
    "\u2800\u200d\u2800",
    "\u0984\u200c\u0984",
    "🏴\U000e0067",
    "🏴\U000e0041\U000e007f",
    "🏴" + "\U000e0067" * 7 + "\U000e007f",
)


@pytest.mark.parametrize("text", NEEDED)
def test_joiners_of_scripts_and_emoji_are_shown_as_they_are(text: str) -> None:
    assert printable(f"({text})") == f"({text})"
    assert without_joiners(text).isprintable()


@pytest.mark.parametrize("text", NOT_NEEDED)
def test_other_invisible_characters_are_escaped(text: str) -> None:
    assert printable(text) != text
    assert not without_joiners(text).isprintable()
