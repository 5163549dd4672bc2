"""The results of a search for a model: as text and as data, which together stay within a number of tokens."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from registry.domain.findings import RISKY, Risk
from registry.domain.runtime_needs import Requirements
from registry.domain.shown_names import name_beside_id
from registry.domain.withdrawals import Withdrawn
from registry.protocols.mcp.definitions import CHARACTERS_PER_TOKEN
from registry.services.completeness import is_complete
from registry.services.schemas import FoundSkill, Grouped, SearchData
from search.corrections import described
from search.modes import Relevance

_MAX_LINE = 400
_NAMED_COPIES = 3
_NOTHING = "No skill fits. Do the task without a skill, or search again with other words."
_NOTHING_YET = "Nothing was found, but the search is not complete."
_TOO_LITTLE = "The best skill does not fit into max_tokens: use more."
_RISK = "Risk: the scan of the registry found something dangerous or hidden. "
_READ = "Read one with get_skill(id)."

_FITS: Mapping[Relevance, str] = MappingProxyType(
    {"high": "high", "medium": "medium: may not fit", "keyword": "by words only"}
)
"""What the text says of the relevance of a hit. Those of low relevance are not shown."""


class _Card(msgspec.Struct):
    """What is read of the card of a hit."""

    id: str
    description: str
    version: str
    installed: bool
    source: str
    risk: Risk | None = msgspec.field(name="findings", default=None)


class _Needs(msgspec.Struct):
    name: str = ""
    requires: Requirements | None = None
    compatibility: str | None = None
    installable: bool = True
    withdrawn: Withdrawn | None = None
    triggers: Sequence[str] = ()


class _Hit(NamedTuple):
    """A hit with its description, and when to use it, as one line."""

    card: _Card
    needs: _Needs
    relevance: Relevance
    score: float
    grouped: Grouped | None

    def shortened(self, characters: int) -> "_Hit":
        """Return the hit with a shorter description, at least one character long."""
        return self._replace(
            card=msgspec.structs.replace(self.card, description=_cut(self.card.description, characters))
        )

    def line(self, number: int) -> str:
        """Return the hit as a line of text."""
        card = self.card
        facts = (
            " ".join(name_beside_id(self.needs.name).split()),
            card.version,
            "" if card.installed else f"from {card.source}",
            f"{card.risk} risk" if card.risk in RISKY else "",
            "" if self.needs.installable else "cannot be installed",
            self.needs.withdrawn.words if self.needs.withdrawn else "",
        )
        about = f"{number}. [{_FITS[self.relevance]}] {card.id} ({', '.join(filter(None, facts))}): {card.description}"
        return " ".join(filter(None, (about, _needed(self.needs), _like_it(self.grouped))))

    def data(self) -> dict[str, Any]:
        """Return the hit as data, without empty fields of what it needs: they would cost tokens of the model."""
        fields = msgspec.structs.asdict(self.card)
        copies = {"grouped": _shortened(self.grouped)} if self.grouped else {}
        return {**fields, "score": round(self.score, 3), "relevance": self.relevance, **copies} | _declared(self.needs)

    def size(self, number: int) -> int:
        """Return the characters of the hit as text and as data."""
        return len(self.line(number)) + 1 + len(_json(self.data())) + 1


def found_answer(data: SearchData, max_tokens: int, place: str = "") -> dict[str, Any]:
    """Return the result of the tool: text, best skill first, and data. Skills of low relevance do not fit.

    `place` says, in a sentence, which catalog was searched; it is part of the text if the catalog may be the wrong one.
    """
    corrections = {"corrections": msgspec.to_builtins(data.corrections)} if data.corrections else {}
    fitting = [_hit(skill) for skill in data.skills if skill.relevance != "low"]
    budget = max_tokens * CHARACTERS_PER_TOKEN - len(_json({"skills": [], **corrections}))
    notes = "".join(f"Note: {note}. " for note in (*data.warnings, *_spelled(data)))
    page = _shown(fitting, budget - len(notes) - len(_ending(fitting, [])))
    if fitting:
        lines = [hit.line(number) for number, hit in enumerate(page, 1)]
        text = "\n".join([*lines, f"{notes}{_ending(fitting, page)}"])
    else:
        complete = is_complete(data.warnings)
        text = " ".join(filter(None, (_NOTHING if complete else _NOTHING_YET, notes, "" if complete else place)))
    answer: dict[str, Any] = {
        "content": [{"type": "text", "text": text.strip()}],
        "structuredContent": {"skills": [hit.data() for hit in page], **corrections},
        "isError": False,
    }
    if data.search_id is not UNSET:  # where models do not read: only a program has a use for it
        answer["_meta"] = {SEARCH_ID: data.search_id}
    return answer


SEARCH_ID = "skill-registry/search_id"
"""The name of the search in feedback, in `_meta` of a result."""


def _hit(skill: FoundSkill) -> _Hit:
    card = msgspec.json.decode(skill.skill, type=_Card)
    needs = msgspec.json.decode(skill.skill, type=_Needs)
    occasions = f" Used for: {', '.join(needs.triggers)}." if needs.triggers else ""
    card.description = _cut(" ".join(f"{card.description}{occasions}".split()), _MAX_LINE)
    return _Hit(card, needs, skill.relevance, skill.score, skill.grouped)


def _shown(fitting: Sequence[_Hit], budget: int) -> list[_Hit]:
    """Return the first hits that fit into a number of characters. The first one is shortened if that lets it fit."""
    hits: list[_Hit] = []
    for number, hit in enumerate(fitting, 1):
        used = hit if hits else _within(hit, budget)
        budget -= used.size(number)
        if budget < 0:
            break
        hits.append(used)
    return hits


def _within(hit: _Hit, budget: int) -> _Hit:
    surplus = hit.size(1) - budget
    if surplus <= 0:
        return hit
    return hit.shortened(len(hit.card.description) - (surplus + 1) // 2)  # it stands in the text and in the data


def _ending(fitting: Sequence[_Hit], hits: Sequence[_Hit]) -> str:
    """Return the last line. It is the longest if nothing is shown yet."""
    if not fitting:
        return ""
    left_out = len(fitting) - len(hits)
    more = f"{left_out} more did not fit into max_tokens. " if left_out else ""
    has_risk = any(hit.card.risk in RISKY for hit in hits or fitting)
    return f"{more if hits else f'{_TOO_LITTLE} '}{_RISK if has_risk else ''}{_READ}"


def _spelled(data: SearchData) -> Iterable[str]:
    return [f"searched for {described(data.corrections)}"] if data.corrections else []


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: max(characters - 1, 0)]}…"


def _needed(needs: _Needs) -> str:
    """Return what a skill needs as a sentence; empty if it says nothing."""
    requires = needs.requires or Requirements()
    system = f"on {' or '.join(requires.os)}" if requires.os else ""
    parts = (*requires.bins, " or ".join(requires.any_bins), *requires.env, system, needs.compatibility or "")
    text = " ".join(", ".join(part for part in parts if part).split()).rstrip(".")
    return f"Needs {text[:_MAX_LINE]}." if text else ""


def _like_it(grouped: Grouped | None) -> str:
    """Return which near-copies share the place of a hit, as a sentence; empty if there are none."""
    if grouped is None:
        return ""
    names, more = grouped.ids[:_NAMED_COPIES], grouped.count - len(grouped.ids[:_NAMED_COPIES])
    return f"And {grouped.count} like it: {', '.join(names)}{f' and {more} more' if more else ''}."


def _shortened(grouped: Grouped) -> dict[str, Any]:
    return {"count": grouped.count, "ids": grouped.ids[:_NAMED_COPIES]}


def _declared(needs: _Needs) -> dict[str, Any]:
    requires = {name: value for name, value in msgspec.to_builtins(needs.requires or Requirements()).items() if value}
    withdrawn = msgspec.to_builtins(needs.withdrawn) if needs.withdrawn else None
    name = name_beside_id(needs.name)
    fields = {"name": name, "requires": requires, "compatibility": needs.compatibility, "withdrawn": withdrawn}
    return {name: value for name, value in fields.items() if value} | (
        {} if needs.installable else {"installable": False}
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
