"""Where in a text the rules have to look: the lines round their hints, which are found in one pass for all of them."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from registry.findings.rules import RULES

Span = tuple[int, int]
"""Where something begins and ends in a text."""

_LINES_BEFORE, _LINES_AFTER, _LINES_SHARED = 2, 6, 3
"""What is looked at round a hint of a rule that reads on over line ends."""
_LIKE_ASCII = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""The letters that match one of ASCII where case does not count, as the documentation of `re.IGNORECASE` has them."""
_LETTERS = frozenset(b"0123456789_abcdefghijklmnopqrstuvwxyz")


class _Hint(NamedTuple):
    text: bytes
    word: bool
    across_lines: bool
    rules: tuple[str, ...]


class _Lines(NamedTuple):
    """The lines round a hint, from the line feed before them. The same hint before `shared` needs no others."""

    start: int
    end: int
    shared: int


def hinted_spans(text: str) -> dict[str, list[Span]]:
    """Return where each rule may match: whole lines with its hints and some around, in order, without overlaps.

    What is looked for by no hint, or has none in the text, is not in the answer.
    """
    hints = _finder()[1]
    spans = defaultdict[str, list[Span]](list)
    for number, places in _places(_small_letters(text)).items():
        for rule in hints[number].rules:
            spans[rule] += [(place.start, place.end) for place in places]
    return {rule: _merged(sorted(found)) for rule, found in spans.items()}


def _small_letters(text: str) -> bytes:
    """Return a byte for each character: what is or matches a character of ASCII, in small letters, `?` for others."""
    if not text.isascii():
        for letter, plain in _LIKE_ASCII:
            text = text.replace(letter, plain)
    return text.encode("ascii", "replace").lower()


def _places(letters: bytes) -> dict[int, list[_Lines]]:
    """Return the lines round each hint, by its number: most texts hold few."""
    finder, hints = _finder()
    places: dict[int, list[_Lines]] = {}
    for number, start, end in finder.find_matches_as_indexes(letters, overlapping=True):
        known = places.get(number)
        if known and start < known[-1].shared:
            continue
        if not hints[number].word or _stands_alone(letters, start, end):
            around = _lines_around if hints[number].across_lines else _line
            places.setdefault(number, []).append(around(letters, start))
    return places


def _stands_alone(letters: bytes, start: int, end: int) -> bool:
    return (start == 0 or letters[start - 1] not in _LETTERS) and (end == len(letters) or letters[end] not in _LETTERS)


def _line(letters: bytes, at: int) -> _Lines:
    end = letters.find(b"\n", at)
    end = len(letters) if end < 0 else end
    return _Lines(max(letters.rfind(b"\n", 0, at), 0), end, end)


def _lines_around(letters: bytes, at: int) -> _Lines:
    start, ends = at, [at]
    for _ in range(_LINES_BEFORE + 1):
        start = max(letters.rfind(b"\n", 0, start), 0)
    while len(ends) <= _LINES_AFTER + 1 and (end := letters.find(b"\n", ends[-1] + 1)) >= 0:
        ends.append(end)
    if len(ends) <= _LINES_AFTER + 1:
        return _Lines(start, len(letters), len(letters))
    return _Lines(start, ends[-1], ends[_LINES_SHARED])


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


@cache
def _finder() -> tuple[BytesAhoCorasick, list[_Hint]]:
    rules = defaultdict[tuple[str, bool, bool], list[str]](list)
    for rule in RULES:
        for hint in (*rule.hints, *rule.words):
            rules[hint, hint in rule.words, rule.across_lines].append(rule.id)
    hints = [_Hint(text.encode(), word, across, tuple(owners)) for (text, word, across), owners in rules.items()]
    finder = BytesAhoCorasick([hint.text for hint in hints], MatchKind.Standard, implementation=Implementation.DFA)
    return finder, hints
