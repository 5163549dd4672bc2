"""Output: tables for people, JSON for programs, and a progress bar. Nothing else writes to a terminal.

Texts of servers, skills and files are shown by `printable`. Every function here that takes a text uses it, so a text
cannot control the terminal, and nothing in it is markup.
"""

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import click
import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from registry.cli.help.output_encoding import is_utf8
from registry.cli.help.verbosity import is_quiet
from registry.parsing.joiners import pieces

Data = Mapping[str, Any]

Part = Table | Text | str
"""What is printed as one block: a text is one line, of which nothing is markup."""

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Control characters, those that change the direction or have no width, tags, and what has no meaning."""

_BLANK = re.compile(r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]")
"""Invisible characters of other categories. Those that choose how an emoji looks are not among them."""

_BREAKS = re.compile(r"([\n\t]+)")

_NOT_ASCII = re.compile(r"[^ -~\n]")

_MOST_PADDED = 100
"""The width in columns up to which the cells of a column are aligned in a pipe."""

_progress: Progress | None = None
"""The bar that is on the terminal now. Lines are printed above it."""


def terminal(**options: Any) -> Console:
    """Return standard output for texts as they are: without markup, codes of emoji, and colours by guess."""
    return Console(highlight=False, markup=False, emoji=False, **options)


def show(answer: Data, parts: Callable[[Data], Iterator[Part]], *, as_json: bool) -> None:
    """Print an answer as JSON, or the parts that a function makes of it."""
    if as_json:
        show_json(answer)
        return
    screen = terminal()
    for part in parts(answer):
        if isinstance(part, Table) and not screen.is_terminal:
            for row in _whole_rows(part):
                screen.print(row, soft_wrap=True)
        else:  # a program reads whole lines
            screen.print(line(part) if isinstance(part, str) else part, soft_wrap=not screen.is_terminal)


def show_json(answer: object) -> None:
    """Print an answer as JSON, with escapes for what is invisible and what the encoding of the output may not have."""
    text = msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()
    stays = _is_visible if is_utf8(sys.stdout) else lambda _: False
    click.echo(_NOT_ASCII.sub(lambda match: match[0] if stays(match[0]) else _json_escape(match[0]), text))


def note(message: str) -> None:
    """Print one line on standard error, unless the command prints JSON or was told to be quiet."""
    if not is_quiet() and not click.get_current_context().params.get("as_json"):
        tell(message)


def warn(message: str) -> None:
    """Print one line on standard error that the user should not miss, beside JSON too."""
    tell(f"warning: {message}")


def tell(message: str) -> None:
    """Print one line on standard error, above the progress bar if there is one."""
    text = f"skill-registry: {printable(message)}"
    if _progress is None:
        click.echo(text, err=True)
    else:
        _progress.console.print(text, soft_wrap=True)


def line(*parts: str | tuple[str, str]) -> Text:
    """Return texts in a row, each perhaps with a style."""
    pairs = ((part, "") if isinstance(part, str) else part for part in parts)
    return Text.assemble(*((printable(text), style) for text, style in pairs))


def facts_table(answer: Data) -> Iterator[Part]:
    """Yield the plain values of an answer, one per line."""
    rows = [(name, _value_text(value)) for name, value in answer.items() if not isinstance(value, dict | list)]
    yield plain_table(rows)


def _value_text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def problems_table(title: str, reasons: Mapping[str, str]) -> Iterator[Part]:
    """Yield a table of names and reasons, or nothing if there are none."""
    if reasons:
        yield table((title, "Reason"), [(place, shortened(reason, 300)) for place, reason in reasons.items()])


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of texts."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        result.add_column(column, overflow="fold")
    return _filled(result, rows)


def plain_table(rows: Iterable[Sequence[str | Text]], indent: int = 0) -> Table:
    """Return a table without a header."""
    cells = list(rows)
    result = Table(box=None, show_header=False, pad_edge=bool(indent), padding=(0, 0, 0, indent) if indent else (0, 1))
    for _ in cells[0] if cells else ():
        result.add_column(overflow="fold")
    return _filled(result, cells)


def _filled(result: Table, rows: Iterable[Sequence[str | Text]]) -> Table:
    for row in rows:
        result.add_row(*(line(cell) if isinstance(cell, str) else cell for cell in row))
    return result


def _whole_rows(shown: Table) -> Iterator[Text]:
    """Yield each row of a table as one line, however long its cells are: a program reads rows line by line.

    A cell that is wider than `_MOST_PADDED` moves the rest of its row only, or else it would widen every row.
    """
    _, right, _, left = shown.padding
    columns = [[column.header, *column.cells] if shown.show_header else [*column.cells] for column in shown.columns]
    cells = [[str(cell) for cell in column] for column in columns]
    widths = [
        max((width for cell in column if (width := cell_len(cell)) <= _MOST_PADDED), default=0) for column in cells
    ]
    edge, gap = " " * left * shown.pad_edge, " " * (left + right)
    for row in zip(*cells, strict=True):
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield Text((edge + gap.join(padded)).rstrip())


def printable(text: str) -> str:
    r"""Return a text in which control characters and other invisible ones are escapes, such as `\x1b` or `\u202e`.

    The text of another program must not control the terminal, and must not look like a different one. Joiners stay
    where a script or an emoji needs them.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join("".join(map(_shown, checked)) + joined for checked, joined in pieces(text))


def printable_lines(text: str) -> str:
    """Return a text of several lines, each as `printable` shows it. Tabs stay."""
    return "".join(printable(part) if place % 2 == 0 else part for place, part in enumerate(_BREAKS.split(text)))


@lru_cache(maxsize=1 << 12)
def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in _HIDDEN_CATEGORIES and not _BLANK.match(char)


def _shown(char: str) -> str:
    return char if _is_visible(char) else _escape(char)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 1 << 8 else f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _json_escape(char: str) -> str:
    pairs = char.encode("utf-16-be")
    return "".join(f"\\u{pairs[place : place + 2].hex()}" for place in range(0, len(pairs), 2))


def shortened(text: str, length: int) -> str:
    """Return a text on one line, as `printable` shows it, of at most `length` characters."""
    short_text = printable(" ".join(text.split()))
    return short_text if len(short_text) <= length else f"{short_text[: length - 1]}…"


def ask_secret(name: str, *, twice: bool = False) -> str:
    """Return a secret that a person types unseen, or the first line of standard input if it is no terminal.

    A new one is typed `twice`, because nobody sees a slip.
    """
    if sys.stdin.isatty():
        return str(click.prompt(name, hide_input=True, err=True, confirmation_prompt=twice))
    return sys.stdin.readline().strip()


@contextmanager
def progress_bar(title: str, *, hidden: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that moves a bar to (done, total). Nothing is drawn if standard error is not a terminal."""
    global _progress  # noqa: PLW0603 - a process has one terminal
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = terminal(file=sys.stderr)
    is_drawn = not hidden and not is_quiet() and console.is_terminal
    with Progress(*columns, console=console, disable=not is_drawn, transient=True) as bar:
        task = bar.add_task(title, total=None)
        _progress = bar if is_drawn else None
        try:
            yield lambda count, total: bar.update(task, completed=count, total=total)
        finally:
            _progress = None
