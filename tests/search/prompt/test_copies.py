"""A request that was copied from a page, an address, a document or a chat is read as its reader sees it there."""

import textwrap

import pytest

from search.prompt.reading import read_prompt

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
        ("50%25", "50%25"),
        ("# Notes", "# Notes"),
        ("remind me  at 10:02", "remind me at 10:02"),
    ],
)
def test_what_only_looks_like_a_copy_stays(prompt: str, text: str) -> None:
    assert read_prompt(prompt).text.startswith(text)
