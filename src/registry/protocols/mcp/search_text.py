"""The results of a search as text for a model, within a number of tokens."""

from typing import Any

import msgspec

from registry.domain.findings import RISKS, RISKY, Risk
from registry.domain.runtime_needs import Requirements
from registry.services.completeness import is_complete
from registry.services.schemas import FoundSkill, SearchData
from search.corrections import described
from search.modes import MatchedBy

_CHARACTERS_PER_TOKEN = 4
_MAX_LINE = 400
_NOTHING = "No skill fits. Do the task without a skill, or search again with other words."

_NOTHING_YET = "Nothing was found, but the search is not complete."

_REASONS: dict[MatchedBy, str] = {"name": "its name", "keyword": "its words", "semantic": "its meaning"}


class _Card(msgspec.Struct):
    id: str
    name: str
    description: str
    version: str
    installed: bool
    source: str
    risk: Risk | None = msgspec.field(name="findings", default=None)


class _Needs(msgspec.Struct):
    requires: Requirements | None = None
    compatibility: str | None = None
    installable: bool = True


_SKILL: dict[str, Any] = {
    **{name: {"type": "string"} for name in ("id", "name", "description", "version", "source")},
    "installed": {"type": "boolean"},
    "risk": {
        "type": ["string", "null"],
        "enum": [*RISKS, None],
        "description": "severity of the gravest finding of the scan; null if the skill was not scanned",
    },
    "score": {"type": "number"},
    "relevance": {"type": "string", "enum": ["high", "medium", "keyword"]},
    "matched_by": {"type": "array", "items": {"type": "string", "enum": list(_REASONS)}},
}
_STRINGS = {"type": "array", "items": {"type": "string"}}
_DECLARED: dict[str, Any] = {
    "requires": {"type": "object", "properties": dict.fromkeys(Requirements.__struct_fields__, _STRINGS)},
    "compatibility": {"type": "string"},
    "installable": {"type": "boolean", "description": "false if it cannot be installed"},
}
"""What only the skills have that say so."""

_HIT = {"type": "object", "properties": _SKILL | _DECLARED, "required": list(_SKILL)}
FOUND_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "skills": {"type": "array", "items": _HIT},
        "search_id": {"type": "string", "description": "the name of the search in feedback"},
        "corrections": {
            "type": "array",
            "description": "words that no skill contains, and what was searched instead",
            "items": {
                "type": "object",
                "properties": {"word": {"type": "string"}, "used": {"type": "array", "items": {"type": "string"}}},
                "required": ["word", "used"],
            },
        },
    },
    "required": ["skills"],
}
"""The JSON schema of `structuredContent`."""


def found_text(found: SearchData, max_tokens: int) -> tuple[str, list[dict[str, Any]]]:
    """Return the text, best skill first, and the skills in it. Skills of low relevance do not fit."""
    fitting = [skill for skill in found.skills if skill.relevance != "low"]
    if not fitting:
        complete = is_complete(found.warnings)
        return " ".join([_NOTHING if complete else _NOTHING_YET, *_notes(found)]), []
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
    has_risk = any(skill["risk"] in RISKY for skill in shown)
    return "\n".join([*lines, _ending(len(fitting) - len(shown), _notes(found), has_risk=has_risk)]), shown


def _notes(found: SearchData) -> list[str]:
    return [f"Note: {note}." for note in (*found.warnings, *_spelled(found))]


def _spelled(found: SearchData) -> list[str]:
    return [f"searched for {described(found.corrections)}"] if found.corrections else []


def _line(number: int, card: _Card, skill: FoundSkill) -> str:
    description = " ".join(card.description.split())
    if len(description) > _MAX_LINE:
        description = f"{description[: _MAX_LINE - 1]}…"
    why = " and ".join(_REASONS[reason] for reason in skill.matched_by)
    place = "" if card.installed else f", from {card.source}"
    risk = f", {card.risk} risk" if card.risk in RISKY else ""
    stated = msgspec.json.decode(skill.skill, type=_Needs)
    place += "" if stated.installable else ", cannot be installed"
    doubt = " (it may not fit)" if skill.relevance == "medium" else ""
    about = f"{number}. {card.id} ({card.version}{place}{risk}): {description}"
    return f"{about} {_needed(stated)}Matched by {why}{doubt}."


def _needed(needs: _Needs) -> str:
    """Return what a skill needs as a sentence and a space; empty if it says nothing."""
    requires = needs.requires or Requirements()
    system = f"on {' or '.join(requires.os)}" if requires.os else ""
    parts = (*requires.bins, " or ".join(requires.any_bins), *requires.env, system, needs.compatibility or "")
    text = " ".join(", ".join(part for part in parts if part).split()).rstrip(".")
    return f"Needs {text[:_MAX_LINE]}. " if text else ""


def _structured(card: _Card, skill: FoundSkill) -> dict[str, Any]:
    fields = {name: getattr(card, name) for name in card.__struct_fields__}
    hit = {**fields, "score": skill.score, "relevance": skill.relevance, "matched_by": list(skill.matched_by)}
    return hit | _declared(msgspec.json.decode(skill.skill, type=_Needs))


def _declared(needs: _Needs) -> dict[str, Any]:
    """Return what a skill says of what it needs, without empty fields: they would cost tokens of the model."""
    requires = {name: value for name, value in msgspec.to_builtins(needs.requires or Requirements()).items() if value}
    given = {"requires": requires, "compatibility": needs.compatibility}
    return {name: value for name, value in given.items() if value} | (
        {} if needs.installable else {"installable": False}
    )


def _ending(left_out: int, notes: list[str], *, has_risk: bool) -> str:
    more = f"{left_out} more did not fit into max_tokens. " if left_out else ""
    noted = "".join(f"{note} " for note in notes)
    risk = "Risk: the scan of the registry found something dangerous or hidden. " if has_risk else ""
    return f"{more}{noted}{risk}Read one with get_skill(id)."
