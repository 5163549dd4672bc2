"""Lists of skills: as wide as a terminal, and lines of tab-separated fields for other programs."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import click
import msgspec
from rich.cells import cell_len, set_cell_size

from registry.cli import console
from registry.cli.console import Data, printable
from registry.cli.risk import risk_remark, withdrawal_of
from registry.domain.shown_names import name_beside_id
from registry.services.completeness import is_complete
from search.corrections import Correction, described

_WEAK = "low"
"""The relevance of what nonsense finds too."""

_GAP, _WIDEST, _NARROWEST = 2, 40, 20
"""Cells between columns, of the widest column but the last, and of the narrowest last one."""


class _Field(NamedTuple):
    title: str
    text: Callable[[Data], str]


def _risk(card: Data) -> str:
    return str(card["findings"] or "-")


def _withdrawal(card: Data) -> str:
    withdrawn = withdrawal_of(card)
    return withdrawn.state if withdrawn else "-"


_SEARCH_LINE = (
    _Field("id", lambda hit: hit["skill"]["id"]),
    _Field("version", lambda hit: hit["skill"]["version"]),
    _Field("score", lambda hit: f"{hit['score']:.6f}"),
    _Field("relevance", lambda hit: hit["relevance"]),
    _Field("matched by", lambda hit: ",".join(hit["matched_by"])),
    _Field("description", lambda hit: hit["skill"]["description"]),
    _Field("risk", lambda hit: _risk(hit["skill"])),
    _Field("withdrawn", lambda hit: _withdrawal(hit["skill"])),
)
_LIST = (
    _Field("Skill", lambda card: card["id"]),
    _Field("Version", lambda card: card["version"]),
    _Field("Risk", _risk),
    _Field("Source", lambda card: card["source"]),
    _Field("Description", lambda card: card["description"]),
)


def _name(card: Data) -> str:
    """Return the name of a skill in brackets, after a space, where the id does not say it; else nothing."""
    name = _line(name_beside_id(card["name"]))
    return f" ({name})" if name else ""


_COLUMNS = (_Field("Skill", lambda card: f"{card['id']}{_name(card)}"), *_LIST[1:])
"""The list on a terminal."""


def is_relevant(hit: Data) -> bool:
    """Return whether a hit is more than what any query finds."""
    return bool(hit["relevance"] != _WEAK)


def show_results(answer: Data, *, weak: bool) -> None:
    """Print the relevant results of a search, and the others too with `weak`."""
    hits = [hit for hit in answer["skills"] if weak or is_relevant(hit)]
    if not sys.stdout.isatty():
        for line in heading(answer):
            click.echo(line, err=True)
        _print_lines(_SEARCH_LINE, hits)
        return
    terminal = console.terminal()
    for line in heading(answer):
        terminal.print(line)
    for hit in hits:
        for part in _lines_of(hit, terminal.width):
            terminal.print(part, no_wrap=True, overflow="ellipsis")
    if hits:
        terminal.print(console.line(f"Results: {len(hits)} ({answer['mode']} search, {answer['took_ms']:.1f} ms)"))
    if hidden := len(answer["skills"]) - len(hits):
        terminal.print(f"Weaker matches: {hidden} (--weak shows them)")


def _lines_of(hit: Data, width: int) -> Iterator[console.Part]:
    """Yield what a hit is and why it is there, its risk, and then its description, as far as it fits on a line."""
    skill = hit["skill"]
    yield console.line(
        (skill["id"], "bold"),
        _name(skill),
        f" {skill['version']}  {hit['score']:.2f} {hit['relevance']}  {', '.join(hit['matched_by'])}",
        "" if skill["installed"] else "  not installed",
        f", at {hit['server']}" if "server" in hit else "",
    )
    if remark := risk_remark(skill, "  "):
        yield remark
    yield console.line(f"  {_fitted(_line(skill['description']), width - 2)}")
    if remark := copies_remark(hit):
        yield console.line(f"  {_fitted(_line(remark), width - 2)}")


def copies_remark(hit: Data) -> str:
    """Return how many near-copies share the place of a hit, and their ids; empty if there are none."""
    grouped = hit.get("grouped")
    return f"and {grouped['count']} like it: {', '.join(grouped['ids'])} (--no-group lists them)" if grouped else ""


def heading(answer: Data) -> Iterator[str]:
    """Yield the warnings of a search, what it was corrected to, and a line if it found nothing relevant."""
    for warning in answer["warnings"]:
        yield f"warning: {printable(warning)}"
    if corrections := msgspec.convert(answer.get("corrections", []), list[Correction]):
        yield f"Showing results for {printable(described(corrections))}."
    if not any(map(is_relevant, answer["skills"])):
        nothing = "No skills match." if is_complete(answer["warnings"]) else "No skills were found yet."
        yield "No skill is a close match." if answer["skills"] else nothing


def show_list(answer: Data) -> None:
    """Print the cards of skills, each on one line."""
    cards = answer["skills"]
    if not sys.stdout.isatty():
        _print_lines((*_LIST, _Field("Withdrawn", _withdrawal)), cards)
    elif cards:
        _print_columns(_COLUMNS, cards)
        click.echo(f"Skills: {len(cards)} of {answer['total']}")
    else:
        click.echo("No skills are installed. 'skill-registry search QUERY' finds some.")


def _print_columns(fields: Sequence[_Field], rows: Sequence[Data]) -> None:
    """Print a table in which each row is one line. The last column takes what the others leave."""
    cells = [[field.title for field in fields], *([_line(field.text(row)) for field in fields] for row in rows)]
    widths = [min(max(map(cell_len, column)), _WIDEST) for column in zip(*cells, strict=True)]
    terminal = console.terminal()
    widths[-1] = max(terminal.width - sum(widths[:-1]) - _GAP * len(widths[:-1]), _NARROWEST)
    for number, row in enumerate(cells):
        fitted = (_fitted(text, width) for text, width in zip(row, widths, strict=True))
        padded = (" " * _GAP).join(set_cell_size(text, width) for text, width in zip(fitted, widths, strict=True))
        terminal.print(console.line((padded.rstrip(), "" if number else "bold")), no_wrap=True, overflow="ellipsis")


def _fitted(text: str, width: int) -> str:
    """Return as much of a text as fits into `width` cells of a terminal."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def _print_lines(fields: Sequence[_Field], rows: Sequence[Data]) -> None:
    for row in rows:
        click.echo("\t".join(_line(field.text(row)) for field in fields))


def _line(text: str) -> str:
    return printable(" ".join(text.split()))
