"""Instructions about manner are no part of what is searched; what may be the task stays."""

import pytest

from search.prompt.frames import without_frame

TASK = "merge these two PDF files, keep the bookmarks"


@pytest.mark.parametrize(
    "frame",
    [
        "{}. Be concise.",
        "You are a helpful assistant. {}",
        "You are an expert software engineer with years of experience. {}. Do not make any mistakes.",
        "Act as a senior developer. {}",
        "Think step by step. {}",
        "Answer only with the code. {}",
        "{}. Keep it short and simple, no explanations please.",
        "{} ultrathink",
        "{}\n\nDon't ask me any questions, just do it.",
    ],
)
def test_only_the_request_remains(frame: str) -> None:
    assert without_frame(frame.format(TASK)).rstrip(".") == TASK


@pytest.mark.parametrize(
    "request_",
    [
        "You are a senior React developer. Add a menu",
        "Act as a travel agent. Plan a week in Rome",
        "Here is my code. Explain the code",
        "Here is my letter. Make it short",
        "Read this paper, short summary",
        "s3: copy a bucket",
        "write a careful code review",
        "step by step guide for Kubernetes",
        "Be concise.",
        "just do it",
    ],
)
def test_what_may_be_the_task_stays(request_: str) -> None:
    assert without_frame(request_) == request_
