"""Reading evals/evals.json, also one that was made to do harm."""

import json
import time
from typing import Any

import pytest

from registry.parsing.evals import MAX_EVALS_BYTES, Evals, read_evals


def read(document: Any) -> Evals:
    return read_evals(json.dumps(document).encode())


def test_both_published_forms_are_read() -> None:
    guide = {"id": 1, "prompt": "Deploy it", "expected_output": "A plan", "files": [], "assertions": ["It rolls back"]}
    creator = {"id": "b", "prompt": "Fill the form\nin a.pdf", "expectations": ["The output has X", "Y is used"]}
    found = read({"skill_name": "deploy", "evals": [guide, creator]})
    assert (found.count, found.assertions, found.problem) == (2, 3, None)
    assert [case.prompt for case in found.cases] == ["Deploy it", "Fill the form\nin a.pdf"]
    assert found.cases[0].expected_output == "A plan"
    assert found.cases[1].assertions == ["The output has X", "Y is used"]


def test_what_is_no_task_is_left_out() -> None:
    odd: list[Any] = [None, 3, [], "text", {}, {"prompt": ""}, {"prompt": 7}, {"prompt": ["a"]}]
    fair: dict[str, Any] = {"prompt": "Go", "expected_output": {"a": 1}, "assertions": [1, None, {}, " ", "It goes"]}
    found = read({"evals": [*odd, fair]})
    assert (found.count, found.assertions) == (1, 1)
    assert found.cases[0].expected_output == ""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe{",
        b"[]",
        b"3",
        b'{"evals": 3}',
        b'{"evals": {"prompt": "a"}}',
        b"[" * MAX_EVALS_BYTES,
        b'{"evals":' * 28_000,
        b'{"evals": [' + b"9" * 200_000 + b"]}",
        b'{"evals": [{"prompt": "\\ud800"}]}',
        b'{"evals": [' + b"[]," * 80_000 + b"[]]}",
        b'{"evals": [{"prompt": "' + b"a" * MAX_EVALS_BYTES + b'"}]}',
    ],
    ids=range(12),
)
def test_hostile_files_have_no_tasks_and_cost_little(data: bytes) -> None:
    started = time.thread_time()  # other tests may have left threads at work
    found = read_evals(data)
    assert time.thread_time() - started < 0.5
    assert found.problem
    assert found.cases == []


def test_what_is_shown_is_bounded() -> None:
    many = [{"prompt": "x" * 1_500 + "\x1b\x07", "assertions": [f"a{n}" for n in range(40)]} for _ in range(60)]
    found = read({"evals": many})
    assert (found.count, found.assertions) == (60, 2_400)
    assert len(found.cases) == 20
    assert {len(case.prompt) for case in found.cases} == {1_001}
    assert {len(case.assertions) for case in found.cases} == {20}
    assert read({"evals": [{"prompt": "a\x1b[2J\x00b\u0085"}]}).cases[0].prompt == "a[2Jb"
