"""Tags that agents write around a request are no part of it; markup that a request is about is."""

import pytest

from search.prompt.reading import read_prompt

REQUEST = "add a dark mode to the page"


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (f"<user_query>{REQUEST}</user_query>", REQUEST),
        (f"<user_query>\n{REQUEST}\n</user_query>\n", REQUEST),
        (
            f"<system-reminder>The plan mode is on.</system-reminder>\n<task>{REQUEST}</task>",
            f"The plan mode is on.\n{REQUEST}",
        ),
        (f"{REQUEST}\n<context>we use plain CSS</context>", f"{REQUEST}\nwe use plain CSS"),
    ],
)
def test_tags_around_sentences_are_left_out(prompt: str, text: str) -> None:
    assert read_prompt(prompt).text == text


@pytest.mark.parametrize(
    "prompt",
    [
        "<my-button>Save the document now</my-button> does not render",
        "why is <b>this one word</b> not bold",
        "<script>alert(1)</script>",
        "<user_query>add a dark mode",
        "<order><item>Two cups of tea</item></order>",
        f"{'<a>' * 3000}</b>",
    ],
)
def test_markup_stays(prompt: str) -> None:
    assert read_prompt(prompt).text == prompt
