"""Headings of sections, files and marks of comments before a request are no part of what is searched."""

import pytest

from search.prompt.reading import read_prompt

TASK = "merge these two PDF files"


@pytest.mark.parametrize(
    ("prompt", "searched"),
    [
        (f"# Task\n{TASK}", TASK),
        (f"## Context\n\n{TASK}\n\n### Acceptance criteria\nbookmarks stay", f"{TASK}\nbookmarks stay"),
        (f"// TODO: {TASK}", TASK),
        (f"// FIXME {TASK}", TASK),
        (f"# FIXME: {TASK}", TASK),
        (f"<!-- todo: {TASK}", TASK),
        (f"src/components/Header.tsx: {TASK}", f"tsx {TASK}"),
        (f"lib/utils/format.py:12:4: {TASK}", f"py {TASK}"),
        (f"lib/utils/format.py — {TASK}", f"py {TASK}"),
        (f"@claude {TASK}", TASK),
        (f"{TASK} (see docs/notes.md)", TASK),
        (f"{TASK} (ref: SHOP-42)", TASK),
        (f"As a user, I want to {TASK}", TASK),
        (f"{TASK} from https://www.example.org/a/long/path?with=words", f"{TASK} from example"),
        (f"{TASK} of https://files.example.co.uk/report.pdf", f"{TASK} of example pdf"),
    ],
)
def test_only_the_request_is_searched(prompt: str, searched: str) -> None:
    read = read_prompt(prompt)
    assert read.text == searched
    assert prompt.split("\n", 1)[0] in read.written  # names are looked for in all of it


@pytest.mark.parametrize(
    "prompt",
    [
        "# Task",
        "# Kubernetes\nset up a cluster",
        "todo list app",
        "# todo list app",
        "# Note taking",
        "src/components/Header.tsx",
        "https://example.org/a/b.html: summarise",
        "# 2024 budget\nplan it",
        "summarise https://example.org/a/b",
        "@weather tomorrow",
        "plan a trip (see the sights)",
    ],
)
def test_what_says_something_stays(prompt: str) -> None:
    assert read_prompt(prompt).text == prompt
