"""The explanations of a search, for people."""

from collections.abc import Iterator

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from registry.cli.console import Data, printable
from registry.cli.risk import risk_remark
from registry.cli.search.results import heading

_TIERS = {"exact_name": "exact name, above everything", "name_prefix": "the name begins with the query"}
_FIELD_ORDER = ("name", "id", "description", "tags", "capabilities", "body")


def explained_tables(answer: Data) -> Iterator[Table | Text | str]:
    """Yield each result of a search with the reasons for its rank."""
    yield from map(escape, heading(answer))
    for rank, hit in enumerate(answer["skills"], 1):
        skill, explanation = hit["skill"], hit["explanation"]
        name = escape(f"{printable(skill['id'])} {printable(skill['version'])}")
        yield f"[bold]{rank}. {name}[/]  {hit['score']:.2f} {hit['relevance']}"
        if remark := risk_remark(skill):
            yield Text("   ").append_text(remark)
        yield f"   {_sum(explanation, answer['mode'])}"
        if explanation["words"]:
            yield _words_table(explanation)
        for example in explanation["examples"]:
            yield escape(f"   example: {printable(example)}")
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


def _words_table(explanation: Data) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 0, 0, 3))
    for match in explanation["words"]:
        fields = [field for field in _FIELD_ORDER if field in match["fields"]]
        table.add_row(escape(printable(match["word"])), f"{match['weight']:.2f}", ", ".join(fields))
    return table
