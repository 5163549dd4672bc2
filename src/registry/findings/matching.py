"""Matches the rules in a text with RE2: at most three lines per rule, in time linear in the text."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

import re2

from registry.findings.rule import Rule, options
from registry.findings.rules import RULES

_MAX_PER_RULE = 3
_PART = 8
"""How much of a text is searched at once, as a multiple of `Rule.within`."""
_FOLDED = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))
"""Letters that match an ASCII letter if case is ignored (documentation of `re.IGNORECASE`)."""
_CONTINUATION = re.compile(rb"\\\r?\n")
_BLANKS = re.compile(rb"[ \t]{2,}")

Span = tuple[int, int]
"""The begin and end of a part of a text."""


class Match(NamedTuple):
    """A rule and the line that its match begins in, counted from 1."""

    rule: Rule
    line: int


def matches(text: str, *, prose: bool) -> list[Match]:
    """Return at most three matches of each rule, on different lines, in order of line. `prose`: Markdown or text."""
    data, joints = _joined(text)
    hits: list[Match] = []
    for rule in possible_rules(data):
        if prose or not rule.prose:
            line, at = 1, 0
            for begin in _first_of_lines(rule, data):
                line += data.count(b"\n", at, begin)
                at = begin
                hits.append(Match(rule, line + bisect_right(joints, begin)))
    return sorted(hits, key=attrgetter("line"))


def _joined(text: str) -> tuple[bytes, list[int]]:
    """Return what the rules are matched in, and where continued lines were joined: a command is one line."""
    if not text.isascii():
        for letter, plain in _FOLDED:  # `translate` looks at each character, which takes 100 times as long
            text = text.replace(letter, plain)
    parts = [_BLANKS.sub(b" ", part) for part in _CONTINUATION.split(text.encode("utf-8", "replace"))]
    return b" ".join(parts), list(accumulate(len(part) + 1 for part in parts[:-1]))


def possible_rules(data: bytes) -> list[Rule]:
    """Return the rules that may match, in order.

    RE2 derives from each pattern the words that its matches contain, and looks for all of them in one pass.
    """
    return [RULES[number] for number in _filter().Match(data, potential=True) or ()]


@cache
def _filter() -> re2.Filter:
    prefilter = re2.Filter()
    for rule in RULES:
        prefilter.Add(rule.pattern, options())
    prefilter.Compile()
    return prefilter


def _first_of_lines(rule: Rule, data: bytes) -> Iterator[int]:
    """Yield where the first match of each line begins, of at most three lines."""
    stronger = [_Overlaps(stronger_rule, data) for stronger_rule in RULES if stronger_rule.id in rule.unless]
    count = at = 0
    while count < _MAX_PER_RULE and (span := _next(rule, data, at)):
        begin, end = span
        if (covered := max((overlap.covers_to(begin, end) for overlap in stronger), default=0)) > begin:
            at = max(covered, end)
            continue
        yield begin
        count += 1
        line_end = data.find(b"\n", begin)
        at = len(data) if line_end < 0 else line_end + 1


class _Overlaps:
    """The matches of a rule, read as far as others need them. Spans must come in order."""

    def __init__(self, rule: Rule, data: bytes) -> None:
        self._rule, self._data = rule, data
        self._span: Span | None = (0, 0)

    def covers_to(self, begin: int, end: int) -> int:
        """Return the end of a match that shares a byte with a span, or 0."""
        while self._span and self._span[1] <= begin:
            self._span = _next(self._rule, self._data, self._span[1])
        return self._span[1] if self._span and self._span[0] < end else 0


def _next(rule: Rule, data: bytes, at: int) -> Span | None:
    """Return the first match that counts, at or after a position.

    RE2 prefers the match that begins first, so it reads a line to its end while a gap is open. Searching a part
    at a time bounds what it reads for each match. A part shares `rule.within` bytes with the next, so no match is cut.
    """
    while at < len(data):
        stop = at + _PART * rule.within
        match = rule.compiled.search(data, at, stop)
        if match is None:
            at = stop - rule.within if stop < len(data) else stop
            continue
        begin, end = match.span()
        if end - begin > rule.within:
            # Its gaps are too long. A shorter match may begin later in this part of the text.
            if (span := _within(rule, data, begin, end)) is None:
                at = end
                continue
            begin, end = span
        if rule.exception and rule.exception.match(data, begin, begin + rule.within):
            at = begin + 1
            continue
        return begin, end
    return None


def _within(rule: Rule, data: bytes, begin: int, end: int) -> Span | None:
    """Return a match of at most `rule.within` bytes that begins between two positions.

    Windows of twice that size hold each of them, and each byte is in two windows, so the time stays linear. A window
    is searched a second time if a longer match in it comes first.
    """
    for start in range(begin, end, rule.within):
        stop = start + 2 * rule.within
        at = start
        for _ in range(2):
            match = rule.compiled.search(data, at, stop)
            if match is None or match.start() >= end:
                break
            if match.end() - match.start() <= rule.within:
                return match.start(), match.end()
            at = max(match.end() - rule.within, at + 1)
    return None
