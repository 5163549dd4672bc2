"""The results of a search as text for a model, within a number of tokens."""

from typing import Any

import msgspec

from registry.services.schemas import FoundSkill, SearchData
from search.modes import MatchedBy

_CHARACTERS_PER_TOKEN = 4
_MAX_LINE = 400
_NOTHING = "No skill fits. Do the task without a skill, or search again with other words."

_REASONS: dict[MatchedBy, str] = {"name": "its name", "keyword": "its words", "semantic": "its meaning"}


class _Card(msgspec.Struct):
    id: str
    name: str
    description: str
    version: str
    installed: bool
    source: str


def found_text(found: SearchData, max_tokens: int) -> tuple[str, list[dict[str, Any]]]:
    """Return the text, best skill first, and the skills in it. Skills of low relevance do not fit."""
    fitting = [skill for skill in found.skills if skill.relevance != "low"]
    if not fitting:
        return _NOTHING, []
    budget = max_tokens * _CHARACTERS_PER_TOKEN
    lines: list[str] = []
    shown: list[dict[str, Any]] = []
    for skill in fitting:
        card = msgspec.json.decode(skill.skill, type=_Card)
        line = _line(len(shown) + 1, card, skill)
        if lines and sum(map(len, lines)) + len(line) > budget:
            break
        lines.append(line[:budget])
        shown.append(_structured(card, skill))
    return "\n".join([*lines, _ending(len(fitting) - len(shown), found.warnings)]), shown


def _line(number: int, card: _Card, skill: FoundSkill) -> str:
    description = " ".join(card.description.split())
    if len(description) > _MAX_LINE:
        description = f"{description[: _MAX_LINE - 1]}…"
    why = " and ".join(_REASONS[reason] for reason in skill.matched_by)
    place = "" if card.installed else f", from {card.source}"
    return f"{number}. {card.id} ({card.version}{place}): {description} Matched by {why}."


def _structured(card: _Card, skill: FoundSkill) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(card)
    return {**fields, "score": skill.score, "relevance": skill.relevance, "matched_by": list(skill.matched_by)}


def _ending(left_out: int, warnings: list[str]) -> str:
    more = f"{left_out} more did not fit into max_tokens. " if left_out else ""
    notes = "".join(f"Note: {warning}. " for warning in warnings)
    return f"{more}{notes}Read one with get_skill(id)."
