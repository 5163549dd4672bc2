"""What the command prints: tables for people, JSON for programs, a bar for what takes long."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from registry.catalog.scanner import ScanReport
from registry.project.lock_file import LockedSkill
from registry.project.verify import Difference

Data = Mapping[str, Any]


def show(answer: Data, tables: Callable[[Data], Iterator[Table | str]], *, as_json: bool) -> None:
    """Print an answer as JSON, or as the tables made of it."""
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
        return
    console = Console()
    for part in tables(answer):
        console.print(part)


def search_table(answer: Data) -> Iterator[Table | str]:
    """Yield the hits of a search."""
    for warning in answer["warnings"]:
        yield f"[yellow]warning:[/] {escape(warning)}"
    if not answer["skills"]:
        yield "Nothing fits."
        return
    table = _table("Score", "Skill", "Version", "Matched by", "Description")
    for hit in answer["skills"]:
        skill = hit["skill"]
        score = f"{hit['score']:.2f} {hit['relevance']}"
        shown = _shortened(skill["description"], 160)
        cells = (printable(skill["id"]), skill["version"], ", ".join(hit["matched_by"]), shown)
        table.add_row(score, *map(escape, cells))
    yield table
    yield f"{answer['count']} by {answer['mode']} search in {answer['took_ms']:.1f} ms"


def facts_table(answer: Data) -> Iterator[Table | str]:
    """Yield the plain values of an answer, one a line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in answer.items():
        if not isinstance(value, dict | list):
            table.add_row(name, escape(str(value)))
    yield table


def status_tables(answer: Data) -> Iterator[Table | str]:
    """Yield how the service is, what of it does not work, and what the last scan could not read."""
    embedding = answer["embedding"]
    model = f"{embedding['provider']} {embedding['model']} ({embedding['dim']})" if embedding["provider"] else "none"
    yield from facts_table({**answer, "embedding": model})
    yield from _problems("Does not work", answer.get("problems", {}))
    yield from _problems("Skipped", answer["skipped"])


def scan_answer(report: ScanReport, warnings: Mapping[str, list[str]]) -> Data:
    """Return a scan and the warnings on the records as one answer."""
    return {**msgspec.to_builtins(report), "warnings": dict(warnings)}


def scan_tables(answer: Data) -> Iterator[Table | str]:
    """Yield what a scan found, what it skipped and what was untidy."""
    yield from facts_table(answer)
    yield from _problems("Skipped", answer["skipped"])
    yield from _problems("Untidy", {key: "; ".join(value) for key, value in answer["warnings"].items()})


def verify_answer(locked: Sequence[LockedSkill], found: Sequence[Difference], logged: Data | None = None) -> Data:
    """Return how the skills directory differs from the lock, and the lock from the log, as one answer."""
    answer = {"skills": len(locked), "differences": msgspec.to_builtins(found)}
    return answer if logged is None else {**answer, "log": logged}


def verify_tables(answer: Data) -> Iterator[Table | str]:
    """Yield each difference between the skills directory and the lock, or that there is none."""
    differing = answer["differences"]
    yield from _problems("Differs", {one["path"]: f"{one['kind']}: {one['message']}" for one in differing})
    yield f"Differences from the lock of {answer['skills']} skills: {len(differing)}"
    if (logged := answer.get("log")) is not None:
        for fault in logged["faults"]:
            yield f"[red]log {escape(logged['name'])}[/]: {escape(printable(fault))}"
        if not logged["faults"]:
            yield f"In the log {escape(logged['name'])}: {logged['proven']} of {answer['skills']} skills"


def mdc_table(answer: Data) -> Iterator[Table | str]:
    """Yield where the rule file is and how many skills it lists."""
    yield f"{answer['skills_count']} skills in {answer['path']}"


def _problems(title: str, reasons: Mapping[str, str]) -> Iterator[Table | str]:
    if reasons:
        table = _table(title, "Why")
        for place, reason in reasons.items():
            table.add_row(escape(printable(place)), escape(_shortened(reason, 300)))
        yield table


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of texts, none of which can steer the terminal."""
    made = _table(*columns)
    for row in rows:
        made.add_row(*(escape(printable(cell)) for cell in row))
    return made


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def printable(text: str) -> str:
    """Return a text that cannot steer the terminal: skills are anybody's words."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _shortened(text: str, length: int) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= length else f"{line[: length - 1]}…"


@contextmanager
def progress_bar(what: str, *, hidden: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that moves a bar to (done, total); nothing is drawn where nobody looks."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, disable=hidden or not console.is_terminal, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
