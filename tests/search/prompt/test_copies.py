"""A request that was copied from a page, an address, a document or a chat is read as its reader sees it there."""

import textwrap

import pytest

from search.prompt.reading import read_prompt
from search.scripts import composed
from support.cost import passes

_MOST_PASSES = 60

REQUEST = "How do I draw a diagram of all the services that our shop needs, and which of them are slow?"


def lines(width: int, mark: str = "", end: str = "\n") -> str:
    return end.join(f"{mark}{line}" for line in textwrap.wrap(REQUEST, width))


@pytest.mark.parametrize(
    "copy",
    [
        REQUEST.replace("a", "a\u200b").replace("o", "\ufeffo"),
        REQUEST.replace("ervi", "er\u00advi"),
        "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in REQUEST),
        REQUEST.replace(" ", "%20").replace("?", "%3F"),
        REQUEST.replace(" ", "&nbsp;"),
        REQUEST.replace(" ", "\u00a0"),
        lines(40),
        lines(72),
        lines(40, end="\r\n"),
        lines(40, "// "),
        lines(40, "# "),
        lines(40, "> "),
        f"[29/11/2026, 10:02:11] Ann: {REQUEST}",
        f"[10:02] <ann> {REQUEST}".replace("<ann> ", "<ann>: "),
        f"Kim Lee (00:12:40): {REQUEST}",
        f"Ann Berg  10:02 AM\n{REQUEST}",
        f"ann — Today at 10:02 AM\n{REQUEST}",
        f"12\n00:01:07,120 --> 00:01:11,480\n{REQUEST}",
    ],
)
def test_a_copy_is_read_as_its_original(copy: str) -> None:
    assert read_prompt(copy).text == REQUEST


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("fix the login\nadd a dark mode", "fix the login\nadd a dark mode"),
        (
            "convert my notes to slides\nadd speaker notes to them\nmail it to the whole team",
            "convert my notes to slides\nadd speaker notes to them\nmail it to the whole team",
        ),
        ("- read the report of last week\n- write a summary of it\n- send", "- read the report of last week"),
        ("why is 100%20 no number in the table", "why is 100%20 no number in the table"),
        ("escape &lt; in templates", "escape &lt; in templates"),
        ("escape &quot; in JSON", "escape &quot; in JSON"),
        ("50%25", "50%25"),
        ("merge%20%00%EF%BC%B0DF", "merge PDF"),
        ("%20", "%20"),
        ("&nbsp;", "&nbsp"),
        ("\u200b", "\u200b"),
        ("#include <a.h>\n#include <b.h>", "#include <a.h>\n#include <b.h>"),
        ("+1 button\n+1 counter", "+1 button\n+1 counter"),
        (">>> import os\n>>> os.listdir()", ">>> import os"),
        ("Lunch (12:00)\nGym (18:00)\nplan my day", "Lunch (12:00)\nGym (18:00)\nplan my day"),
        ("# Notes", "# Notes"),
        ("remind me  at 10:02", "remind me at 10:02"),
    ],
)
def test_what_only_looks_like_a_copy_stays(prompt: str, text: str) -> None:
    assert read_prompt(prompt).text.startswith(text)


@pytest.mark.parametrize("unit", ["\u0316\u0301", "\uff9e\u0316", "\ufdfa", "\u20d0\u20e8", "\u0301 \u0316"])
def test_the_time_is_linear_in_characters_that_composing_moves_or_multiplies(unit: str) -> None:
    assert passes(read_prompt, unit * (400_000 // len(unit)), rounds=1) < _MOST_PASSES


def test_a_run_of_marks_is_cut_and_words_keep_theirs() -> None:
    marks = "\u0316\u0301"
    assert composed(f"n\u0303a{marks * 1000}\uff21") == composed(f"\u00f1a{marks * 15}A")
