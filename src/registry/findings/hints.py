"""Where in a text the rules have to look: the lines round their hints, which are found in one pass for all of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from registry.findings.rules import RULES

Span = tuple[int, int]
"""Where something begins and ends in a text."""

_LINES_BEFORE, _LINES_AFTER, _LINES_SHARED = 2, 12, 6
"""What is looked at round a hint of a rule that reads on over line ends."""
_LIKE_ASCII = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""The letters that match one of ASCII where case does not count, as the documentation of `re.IGNORECASE` has them."""
_LETTERS = frozenset(b"0123456789_abcdefghijklmnopqrstuvwxyz")
_BLOCK = 64 * 1024
"""How much is searched at once: it bounds the memory for the hits."""
_LONGEST = max(len(hint) for rule in RULES for hint in (*rule.hints, *rule.words))


class _Hint(NamedTuple):
    text: bytes
    word: bool
    across_lines: bool
    rules: tuple[str, ...]


class Hinted(NamedTuple):
    """The rules that have a hint in a text, and the whole lines with hints and their context."""

    rules: set[str]
    spans: list[Span]


def hinted(text: str) -> Hinted:
    """Return which rules may match and where; the spans are in order and do not overlap."""
    letters, hints = _small_letters(text), _finder()[1]
    found = set[int]()
    spans: list[Span] = []
    line_end = shared = -1
    for number, start, end in _places(letters):
        hint = hints[number]
        if number in found and start < (shared if hint.across_lines else line_end):
            continue
        if hint.word and not _stands_alone(letters, start, end):
            continue
        found.add(number)
        if hint.across_lines and start >= shared:
            span, shared = _lines_around(letters, start)
            spans.append(span)
        elif start >= line_end:
            line_end = _line_end(letters, start)
            spans.append((letters.rfind(b"\n", 0, start) + 1, line_end))
    return Hinted({rule for number in found for rule in hints[number].rules}, merged(spans))


def _small_letters(text: str) -> bytes:
    """Return a byte for each character: what is or matches a character of ASCII, in small letters, `?` for others."""
    if not text.isascii():
        for letter, plain in _LIKE_ASCII:
            text = text.replace(letter, plain)
    return text.encode("ascii", "replace").lower()


def _places(letters: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the number, start and end of every hint; hints at the seams of blocks come twice."""
    finder = _finder()[0]
    for base in range(0, len(letters), _BLOCK):
        block = letters[base : base + _BLOCK + _LONGEST]
        for number, start, end in finder.find_matches_as_indexes(block, overlapping=True):
            yield number, base + start, base + end


def _stands_alone(letters: bytes, start: int, end: int) -> bool:
    return (start == 0 or letters[start - 1] not in _LETTERS) and (end == len(letters) or letters[end] not in _LETTERS)


def _line_end(letters: bytes, at: int) -> int:
    end = letters.find(b"\n", at)
    return len(letters) if end < 0 else end


def _lines_around(letters: bytes, at: int) -> tuple[Span, int]:
    """Return the lines round a place, and up to where a hint needs no others."""
    start, ends = at, [_line_end(letters, at)]
    for _ in range(_LINES_BEFORE):
        start = max(letters.rfind(b"\n", 0, start), 0)
    while len(ends) <= _LINES_AFTER and ends[-1] < len(letters):
        ends.append(_line_end(letters, ends[-1] + 1))
    shared = ends[_LINES_SHARED] if len(ends) > _LINES_AFTER else len(letters)
    return (letters.rfind(b"\n", 0, start) + 1, ends[-1]), shared


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that overlap or touch as one."""
    apart: list[Span] = []
    for start, end in sorted(spans):
        if apart and start <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
        else:
            apart.append((start, end))
    return apart


@cache
def _finder() -> tuple[BytesAhoCorasick, list[_Hint]]:
    rules = defaultdict[tuple[str, bool, bool], list[str]](list)
    for rule in RULES:
        for hint in (*rule.hints, *rule.words):
            rules[hint, hint in rule.words, rule.across_lines].append(rule.id)
    hints = [_Hint(text.encode(), word, across, tuple(owners)) for (text, word, across), owners in rules.items()]
    finder = BytesAhoCorasick([hint.text for hint in hints], MatchKind.Standard, implementation=Implementation.DFA)
    return finder, hints
