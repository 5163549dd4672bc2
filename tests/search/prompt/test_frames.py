"""Greetings, thanks and courtesy around a request are no part of what is searched."""

import pytest

from search.prompt.frames import without_frame
from search.prompt.reading import read_prompt

TASK = "merge these two PDF files, keep the bookmarks"
FRAMES = [
    "Hi! Could you please help me with this: {} Thank you so much!",
    "Hello there,\n\n{}\n\nBest regards,\nAnna Berg",
    "Good morning! I hope you are doing well. {}. Many thanks in advance!",
    "Hey Claude, quick question: {} thx",
    "I was wondering if you could help me with the following. {}",
    "ok so {} please",
    "Dear assistant, I need your help. {}. I'd really appreciate it. Cheers, Tom",
    "{}\n\nLet me know if you have any questions.",
    "Hi,\n{}\nThanks",
]


@pytest.mark.parametrize("frame", FRAMES)
def test_only_the_request_remains(frame: str) -> None:
    assert without_frame(frame.format(TASK)).rstrip(".") == TASK


@pytest.mark.parametrize(
    "request_",
    [
        TASK,
        "write a thank you letter to my teacher",
        "help desk software",
        "hello world in Rust",
        "Draft a polite reply: thanks for the offer, we decline",
        "sort my photos by day",
        "kind regards signature for mails",
        "hi",
        "Thank you!",
    ],
)
def test_a_request_about_courtesy_stays(request_: str) -> None:
    assert without_frame(request_) == request_


def test_what_was_sent_is_kept_for_names() -> None:
    prompt = read_prompt("Hello! Use the pdf skill. Thanks!")
    assert prompt.written == "Hello! Use the pdf skill. Thanks!"
    assert prompt.text == "Use the pdf skill."
