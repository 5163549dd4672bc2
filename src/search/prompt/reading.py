"""What is searched of a prompt: the request in it, without what a machine wrote, and what was left out."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from search.prompt.documents import without_document
from search.prompt.frames import without_frame
from search.prompt.pastes import without_paste
from search.prompt.wrappers import unwrapped, without_fields
from search.stop_words import STOP_WORDS
from search.text import normalized, readable

SEARCHED = 12_000
"""The most characters of a prompt that are searched: of a longer request, its beginning and its end."""

_EMPTY_WORDS = STOP_WORDS | frozenset(
    """
    attached begin bug check code continue debug error errors explain fail failed failing fails fix following happen
    happened happening hello help hey hi issue log logs look message mean means next output problem proceed resolve see
    solve stack start thank thanks trace traceback work working works wrong
    """.split()  # noqa: SIM905 - one word per line would take a page
)
"""What a request says that leaves it to the paste what it is about."""

_TOLD_LINES, _TOLD = 3, 400
"""The lines at each end of a paste that tell what it is about, and the most characters of each."""

_MARK = re.compile(r"(?:(?:[#;+]|--)(?:[ \t]|\Z)|(?:>(?!>)|//)[ \t]?)")
_MARKED_LINES = 2
"""The lines from which what all of them begin with is the mark of a comment, a quotation or a diff."""

_ITEM = re.compile(r"\s*(?:[^\w\s\"'(`]|\d{1,3}[.)]|[A-Z][\w-]{0,20}(?: [\w-]{1,20}){0,2}:(?:\s|\Z))")
"""The beginning of a line that is a heading, an item of a list or a field."""

_WRAPPED_WIDTH, _WRAPPED_WIDTH_OF_TWO = 35, 60
"""The characters of the longest line from which lines may be wrapped, and if there are only two."""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]{2,39}")
_WORD = re.compile(r"[^\W\d_]{2,40}")
_MOST_IDENTIFIERS = 400


class Prompt(NamedTuple):
    """A query as it is searched.

    `written` is what was sent, without tags and JSON around it, `text` what is searched of it. `identifiers` are words
    of a paste and of the background, for those that few documents have. `background` is what else a ticket says, which
    may exclude something. `left_out` is the number of characters of pastes and background, and `cut` that of the
    request's middle.
    """

    written: str
    text: str
    identifiers: str = ""
    background: str = ""
    left_out: int = 0
    cut: int = 0


def read_prompt(query: str) -> Prompt:
    """Return what is searched of a query. The time is linear in its length."""
    query, context = unwrapped(readable(query))
    paste = without_paste(query)
    request, cut = _ends(query if paste is None else paste.request)  # bounds what is read as paragraphs
    pasted, left_out = context, len(context)
    if paste is not None:
        pasted, left_out = f"{context}\n{paste.pasted}", left_out + len(query) - len(paste.request)
    if (parts := without_document(request)) is not None:
        pasted, left_out = f"{pasted}\n{parts.document}", left_out + len(request) - len(parts.request)
        request = parts.request
    request = _with_whole_lines(request) if "\n" in request else request
    written = normalized(request)
    fields = without_fields(request)
    text, background = written if fields.request is request else normalized(fields.request), fields.background
    told = "" if not pasted or _says_something(text) else _telling_lines(pasted)
    words = dict.fromkeys(_IDENTIFIER.findall(f"{pasted}\n{background}"))
    identifiers = " ".join(list(words)[:_MOST_IDENTIFIERS])
    text = normalized(f"{without_frame(text)}\n{told}") if told else without_frame(text)
    return Prompt(written, text, identifiers, background, left_out - len(told) + len(background), cut)


def _with_whole_lines(text: str) -> str:
    """Return a request without the marks that all lines begin with, and with one line for each wrapped paragraph."""
    lines = text.split("\n")
    marks = {mark and mark[0].strip() for line in lines if line.strip() for mark in [_MARK.match(line)]}
    if len(lines) >= _MARKED_LINES and len(marks) == 1 and None not in marks:
        lines = [_MARK.sub("", line, count=1) for line in lines]
    paragraphs = [list(group) for _, group in groupby(lines, key=lambda line: bool(line.strip()))]
    return "\n".join(" ".join(part) if _is_wrapped(part) else "\n".join(part) for part in paragraphs)


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Return whether each line of a paragraph ends where the first word of the next would have passed the margin."""
    width = max(map(len, lines))
    if not lines[0].strip() or width < (_WRAPPED_WIDTH if len(lines) > 2 else _WRAPPED_WIDTH_OF_TWO):
        return False
    following = [line.split(None, 1)[0] for line in lines[1:]]
    return (
        any(word[0].islower() for word in following)
        and all(len(line) + 1 + len(word) > width for line, word in zip(lines, following, strict=False))
        and not any(map(_ITEM.match, lines[1:]))
    )


def _says_something(request: str) -> bool:
    """Return whether a request says itself what it is about, unlike "why does this fail?"."""
    return any(word.lower() not in _EMPTY_WORDS for word in _WORD.findall(request))


def _telling_lines(pasted: str) -> str:
    """Return the first and the last lines of a paste: a trace has its error there."""
    lines = pasted.split("\n")
    ends = lines if len(lines) <= 2 * _TOLD_LINES else [*lines[:_TOLD_LINES], *lines[-_TOLD_LINES:]]
    return "\n".join(line[:_TOLD] for line in ends)


def _ends(text: str) -> tuple[str, int]:
    """Return the text without the middle that is too much, and the number of characters of that."""
    if len(text) <= SEARCHED:
        return text, 0
    return f"{text[: SEARCHED // 2]}\n{text[-SEARCHED // 2 :]}", len(text) - SEARCHED


def left_out_notes(prompt: Prompt) -> list[str]:
    """Return what was not searched, in words."""
    notes = []
    if prompt.left_out:
        kinds = "logs, code, data, documents and background"
        notes.append(f"left out of the search: {prompt.left_out:,} characters of {kinds}")
    if prompt.cut:
        notes.append(f"left out of the search: {prompt.cut:,} characters in the middle of the query")
    return notes
