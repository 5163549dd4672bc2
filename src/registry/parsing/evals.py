"""Reads the `evals/evals.json` of a skill: tasks with which its author tests it.

The format is that of the guide of agentskills.io and of Anthropic's skill-creator: `evals` is a list of objects with
`prompt`, `expected_output`, and `assertions` or `expectations`. Nothing of it is run. Reading it is quick, whatever it
holds.
"""

import re
from collections.abc import Iterable

import msgspec

from registry.parsing.json_document import JsonUnreadable, read_json

EVALS_FILE = "evals/evals.json"
MAX_EVALS_BYTES = 256 << 10

_SHOWN_CASES, _SHOWN_ASSERTIONS = 20, 20
_LONGEST = 1_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class EvalCase(msgspec.Struct, kw_only=True):
    """One task. Texts end with `…` after 1,000 characters; `assertions` are at most 20."""

    prompt: str
    expected_output: str
    assertions: list[str]


class Evals(msgspec.Struct, kw_only=True):
    """How many tasks and assertions a file has, and the first 20 tasks. `problem` says why it has none."""

    count: int = 0
    assertions: int = 0
    cases: list[EvalCase] = msgspec.field(default_factory=list)
    problem: str | None = None


def read_evals(data: bytes) -> Evals:
    """Return the tasks in the bytes of a file, of which `MAX_EVALS_BYTES` and one more are enough."""
    if len(data) > MAX_EVALS_BYTES:
        return Evals(problem=f"it is larger than {MAX_EVALS_BYTES:,} bytes")
    try:
        document = read_json(data)
    except JsonUnreadable:
        return Evals(problem="it is not valid JSON")
    entries = document.get("evals") if isinstance(document, dict) else None
    cases = [case for case in entries if _is_case(case)] if isinstance(entries, list) else []
    if not cases:
        return Evals(problem="it has no list `evals` of objects with a `prompt`")
    stated = [list(_assertions(case)) for case in cases]
    return Evals(
        count=len(cases),
        assertions=sum(map(len, stated)),
        cases=[
            EvalCase(
                prompt=_shown(case["prompt"]),
                expected_output=_shown(case.get("expected_output")),
                assertions=[_shown(text) for text in texts[:_SHOWN_ASSERTIONS]],
            )
            for case, texts in zip(cases[:_SHOWN_CASES], stated, strict=False)
        ],
    )


def _is_case(case: object) -> bool:
    return isinstance(case, dict) and isinstance(case.get("prompt"), str) and bool(case["prompt"].strip())


def _assertions(case: dict[str, object]) -> Iterable[str]:
    texts = case.get("assertions") or case.get("expectations")
    return (text for text in texts if isinstance(text, str) and text.strip()) if isinstance(texts, list) else ()


def _shown(text: object) -> str:
    if not isinstance(text, str):
        return ""
    text = _CONTROL.sub("", text.strip())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
