"""The explanations of a search, for people."""

from collections.abc import Iterator

from registry.cli import console
from registry.cli.console import Data
from registry.cli.risk import risk_remark
from registry.cli.search.results import copies_remark, heading

_TIERS = {"exact_name": "exact name, above everything", "name_prefix": "the name begins with the query"}
_FIELD_ORDER = ("name", "id", "description", "tags", "capabilities", "body")
_INDENT = "   "


def explained_tables(answer: Data) -> Iterator[console.Part]:
    """Yield each result of a search with the reasons for its rank."""
    yield from heading(answer)
    for rank, hit in enumerate(answer["skills"], 1):
        skill, explanation = hit["skill"], hit["explanation"]
        yield console.line(
            (f"{rank}. {skill['id']} {skill['version']}", "bold"), f"  {hit['score']:.2f} {hit['relevance']}"
        )
        if remark := risk_remark(skill, _INDENT):
            yield remark
        if remark := copies_remark(hit):
            yield f"{_INDENT}{remark}"
        yield f"{_INDENT}{_sum(explanation, answer['mode'])}"
        if explanation["words"]:
            yield console.plain_table(map(_row, explanation["words"]), indent=len(_INDENT))
        for example in explanation["examples"]:
            yield f"{_INDENT}example: {example}"
    if answer["skills"]:
        yield f"Results: {answer['count']} ({answer['mode']} search, {answer['took_ms']:.1f} ms)"


def _sum(explanation: Data, mode: str) -> str:
    parts = " + ".join(f"{name} {weight:.2f}" for name, weight in explanation["parts"].items())
    text = f"evidence {explanation['evidence']:.2f} = {parts}"
    if explanation["cosine"] is not None:
        text += f" (cosine {explanation['cosine']:.2f})"
    elif mode != "keyword":
        text += " (no vector yet: the mean of the others)"
    tier = _TIERS.get(explanation["tier"])
    return f"{tier}; {text}" if tier else text


def _row(match: Data) -> tuple[str, str, str]:
    fields = [field for field in _FIELD_ORDER if field in match["fields"]]
    return match["word"], f"{match['weight']:.2f}", ", ".join(fields)
