"""Finds the lines that the rules have to match: those around hints. One pass finds the hints of all rules."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from registry.findings.rules import RULES

Span = tuple[int, int]
"""The begin and end offsets of a part of a text."""

_LINES_BEFORE, _LINES_AFTER, _LINES_SHARED = 2, 12, 6
"""The context of a hint whose rule matches across lines."""
_FOLDED_TO_ASCII = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""Non-ASCII letters that match an ASCII letter if case is ignored (documentation of `re.IGNORECASE`)."""
_LETTERS = frozenset(b"0123456789_abcdefghijklmnopqrstuvwxyz")
_BLOCK = 64 * 1024
"""Characters that are searched at once. This bounds the memory for the hits."""
_LONGEST = max(len(hint) for rule in RULES for hint in (*rule.hints, *rule.words))


class _Hint(NamedTuple):
    text: bytes
    word: bool
    across_lines: bool
    rules: tuple[str, ...]


class Hinted(NamedTuple):
    """The rules with a hint in a text, and the spans of whole lines around the hints."""

    rules: set[str]
    spans: list[Span]


def hinted(text: str) -> Hinted:
    """Return the rules that may match, and where. The spans are in order and do not overlap."""
    letters, hints = _lower_case(text), _finder()[1]
    seen = set[int]()
    spans: list[Span] = []
    line_end = shared = -1
    for number, start, end in _occurrences(letters):
        hint = hints[number]
        if number in seen and start < (shared if hint.across_lines else line_end):
            continue
        if hint.word and not _is_whole_word(letters, start, end):
            continue
        seen.add(number)
        if hint.across_lines and start >= shared:
            span, shared = _lines_around(letters, start)
            spans.append(span)
        elif start >= line_end:
            line_end = _line_end(letters, start)
            spans.append((letters.rfind(b"\n", 0, start) + 1, line_end))
    return Hinted({rule for number in seen for rule in hints[number].rules}, merged(spans))


def _lower_case(text: str) -> bytes:
    """Return one byte per character: the lower-case ASCII character that it is or matches, else `?`."""
    if not text.isascii():
        for letter, plain in _FOLDED_TO_ASCII:
            text = text.replace(letter, plain)
    return text.encode("ascii", "replace").lower()


def _occurrences(letters: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the number, start and end of every hint. A hint at a block boundary may come twice."""
    finder = _finder()[0]
    for base in range(0, len(letters), _BLOCK):
        block = letters[base : base + _BLOCK + _LONGEST]
        for number, start, end in finder.find_matches_as_indexes(block, overlapping=True):
            yield number, base + start, base + end


def _is_whole_word(letters: bytes, start: int, end: int) -> bool:
    return (start == 0 or letters[start - 1] not in _LETTERS) and (end == len(letters) or letters[end] not in _LETTERS)


def _line_end(letters: bytes, at: int) -> int:
    end = letters.find(b"\n", at)
    return len(letters) if end < 0 else end


def _lines_around(letters: bytes, at: int) -> tuple[Span, int]:
    """Return the span of lines around an offset, and the offset up to which hints are covered by it."""
    start, ends = at, [_line_end(letters, at)]
    for _ in range(_LINES_BEFORE):
        start = max(letters.rfind(b"\n", 0, start), 0)
    while len(ends) <= _LINES_AFTER and ends[-1] < len(letters):
        ends.append(_line_end(letters, ends[-1] + 1))
    shared = ends[_LINES_SHARED] if len(ends) > _LINES_AFTER else len(letters)
    return (letters.rfind(b"\n", 0, start) + 1, ends[-1]), shared


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order. Spans that overlap or touch are joined."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


@cache
def _finder() -> tuple[BytesAhoCorasick, list[_Hint]]:
    rules = defaultdict[tuple[str, bool, bool], list[str]](list)
    for rule in RULES:
        for hint in (*rule.hints, *rule.words):
            rules[hint, hint in rule.words, rule.across_lines].append(rule.id)
    hints = [_Hint(text.encode(), word, across, tuple(owners)) for (text, word, across), owners in rules.items()]
    finder = BytesAhoCorasick([hint.text for hint in hints], MatchKind.Standard, implementation=Implementation.DFA)
    return finder, hints
