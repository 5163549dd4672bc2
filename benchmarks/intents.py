"""Queries that were written for skills by people who read them: `data/intents.jsonl`.

Each line has the id of a skill of the data set `prompts`, its part (`train` or `dev`) and its queries: three in the
part `dev`, up to six in the part `train`. A skill is in one part only. The queries are written in other words than the
skill's description.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

_TRIGGER = re.compile(
    r"\b(?:use|invoke|trigger|activate)s?\b[^.!?\n]{0,30}?\b(?:when|if|for|whenever)\b:?\s*([^.!?\n]{20,400})[.!?]?",
    re.IGNORECASE,
)
_MIN_REST_WORDS = 5

FILE = Path(__file__).parent / "data" / "intents.jsonl"


class Intents(NamedTuple):
    """The queries of one skill."""

    skill: str
    queries: list[str]


def read(part: str, path: Path = FILE) -> list[Intents]:
    """Return the queries of a part, by skill."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Intents(row["skill"], row["queries"]) for row in rows if row["part"] == part]


class Trigger(NamedTuple):
    """When its author says that a skill is to be used, and the rest of the description."""

    when: str
    rest: str


def trigger(description: str) -> Trigger | None:
    """Return the clause of a description such as "Use when …", apart from the rest; None if there is none."""
    found = _TRIGGER.search(description)
    if found is None:
        return None
    rest = (description[: found.start()] + description[found.end() :]).strip()
    return Trigger(found[1], rest) if len(rest.split()) >= _MIN_REST_WORDS else None


def labelled(intents: Sequence[Intents]) -> tuple[list[dict[str, Any]], dict[str, dict[str, float]]]:
    """Return the queries and the gains of their skills, in the form of the other data sets."""
    queries, gains = [], {}
    for entry in intents:
        for number, text in enumerate(entry.queries):
            query = f"{entry.skill}#{number}"
            queries.append({"id": query, "text": text})
            gains[query] = {entry.skill: 1.0}
    return queries, gains
