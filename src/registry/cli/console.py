"""Output: tables for people, JSON for programs, and a progress bar."""

import json
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
from rich.text import Text

from registry.cli.help.output_encoding import is_utf8

Data = Mapping[str, Any]


def show(answer: Data, tables: Callable[[Data], Iterator[Table | Text | str]], *, as_json: bool) -> None:
    """Print an answer as JSON, or as the tables that a function makes of it."""
    if as_json:
        click.echo(json_text(answer))
        return
    console = Console()
    for part in tables(answer):
        console.print(part)


def json_text(answer: Any) -> str:
    """Return an answer as JSON, with escapes for what the encoding of standard output may not have."""
    text = msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
    return text if is_utf8(sys.stdout) else json.dumps(json.loads(text), indent=2)


def note(message: str) -> None:
    """Print one line on standard error, unless the command prints JSON."""
    if not click.get_current_context().params.get("as_json"):
        click.echo(f"skill-registry: {printable(message)}", err=True)


def warn(message: str) -> None:
    """Print one line on standard error that nobody should miss, beside JSON too."""
    click.echo(f"skill-registry: warning: {printable(message)}", err=True)


def facts_table(answer: Data) -> Iterator[Table | str]:
    """Yield the plain values of an answer, one per line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in answer.items():
        if not isinstance(value, dict | list):
            table.add_row(name, escape(_value_text(value)))
    yield table


def _value_text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value))


def status_tables(answer: Data) -> Iterator[Table | str]:
    """Yield the state of the service, the parts that do not work, and the folders that the last scan skipped."""
    embedding = answer["embedding"]
    model = f"{embedding['provider']} {embedding['model']} ({embedding['dim']})" if embedding["provider"] else "none"
    yield from facts_table({**answer, "embedding": model})
    yield from problems_table("Does not work", answer.get("problems", {}))
    yield from problems_table("Skipped", answer["skipped"])


def problems_table(title: str, reasons: Mapping[str, str]) -> Iterator[Table | str]:
    """Yield a table of names and reasons, or nothing if there are none."""
    if reasons:
        table = _table(title, "Reason")
        for place, reason in reasons.items():
            table.add_row(escape(printable(place)), escape(shortened(reason, 300)))
        yield table


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of texts, without control characters."""
    result = _table(*columns)
    for row in rows:
        result.add_row(*(escape(printable(cell)) for cell in row))
    return result


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def printable(text: str) -> str:
    """Return a text without control characters: texts of strangers must not control the terminal."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def shortened(text: str, length: int) -> str:
    """Return a text on one line, without control characters, of at most `length` characters."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= length else f"{line[: length - 1]}…"


def ask_secret(name: str) -> str:
    """Return a secret that a person types unseen, or the first line of standard input if it is no terminal."""
    if sys.stdin.isatty():
        return str(click.prompt(name, hide_input=True, err=True))
    return sys.stdin.readline().strip()


@contextmanager
def progress_bar(title: str, *, hidden: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that moves a bar to (done, total). Nothing is drawn if standard error is not a terminal."""
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, console=console, disable=hidden or not console.is_terminal, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
