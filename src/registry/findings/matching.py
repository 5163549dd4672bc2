"""Where in a text the rules match: at most three lines per rule, in time linear in the text."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, reduce
from itertools import accumulate
from operator import or_
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from registry.findings.bit_text import BitText
from registry.findings.hints import Span, hinted, merged
from registry.findings.pattern import Pattern
from registry.findings.rule import Rule
from registry.findings.rules import RULES

_MAX_A_RULE = 3
_BLOCK = 64 * 1024
"""How many characters are matched at once: it bounds memory, and the sets of positions stay in the cache."""
_OVERLAP = 4 * 1024
"""The longest match that is found wherever it begins in a line that is longer than a block."""
_SEAM = "\n\0\n"
"""What separates lines that are not adjacent in the text, so that nothing matches across."""
_INVISIBLE = re.compile(
    r"[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0e\ufeff\uffa0\U000e0000-\U000e01ef]"
)
_UNHINTED = frozenset(rule.id for rule in RULES if not rule.hints and not rule.words)
"""The rules for invisible characters."""


class Match(NamedTuple):
    """A rule and where in the text it matches."""

    rule: Rule
    at: int


def matches(text: str, *, prose: bool) -> list[Match]:
    """Return at most three matches of each rule, on different lines, in order; `prose` is Markdown or plain text."""
    ids, spans = hinted(text)
    if not text.isascii() and (hidden := list(_invisible_lines(text))):
        ids |= _UNHINTED
        spans = merged([*spans, *hidden])
    rules = [rule for rule in RULES if rule.id in ids and (prose or not rule.prose)]
    found = [_Found(text, rule) for rule in rules]
    for block in _blocks(text, spans) if rules else ():
        for one in found:
            one.add(block)
    return sorted((Match(one.rule, at) for one in found for at in one.places), key=lambda match: match.at)


class _Found:
    """What one rule has found in a text so far."""

    def __init__(self, text: str, rule: Rule) -> None:
        self.rule = rule
        self.places: list[int] = []
        self._text = text
        self._reported_to = 0

    def add(self, block: "_Block") -> None:
        """Match the rule in one more block."""
        for at in block.places(self.rule):
            if len(self.places) == _MAX_A_RULE:
                break
            if at >= self._reported_to:
                self.places.append(at)
                line_end = self._text.find("\n", at)
                self._reported_to = line_end + 1 if line_end >= 0 else len(self._text) + 1


def _invisible_lines(text: str) -> Iterator[Span]:
    end = 0
    while match := _INVISIBLE.search(text, end):
        start, end = match.span()
        start, end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        end = len(text) if end < 0 else end
        yield start, end


def _blocks(text: str, spans: list[Span]) -> Iterator["_Block"]:
    """Yield short spans together, and long ones in overlapping parts."""
    block: list[Span] = []
    size = 0
    for start, end in spans:
        if block and size + end - start > _BLOCK:
            yield _Block(text, block)
            block, size = [], 0
        if end - start > _BLOCK:
            for part in range(start, end, _BLOCK):
                # The character before it decides about a word boundary.
                around = max(part - 1, start), min(part + _BLOCK + _OVERLAP, end)
                yield _Block(text, [around], (part, part + _BLOCK))
        else:
            block.append((start, end))
            size += end - start
    if block:
        yield _Block(text, block)


class _Block:
    """Lines of a text that are matched at once; only matches that begin within `own` count, if it is given."""

    def __init__(self, text: str, spans: list[Span], own: Span | None = None) -> None:
        self._spans = spans
        self._text = _SEAM.join(text[start:end] for start, end in spans)
        lengths = (end - start + len(_SEAM) for start, end in spans[:-1])
        self._offsets = list(accumulate(lengths, initial=0))
        self._bits = BitText(self._text, _words().absent)
        self._begins: dict[str, int] = {}
        self._own = self._bits.everywhere
        if own:
            (start, end), (own_start, own_end) = spans[0], own
            self._own = self._own >> (own_start - start) & -1 << max(end - own_end + 1, 0)

    def places(self, rule: Rule) -> Iterator[int]:
        """Return the first match of a rule in each line. Call it for the rules in its `unless` before."""
        pattern = _patterns()[rule.id]
        begins = pattern.begins(self._bits)
        if begins and (covered := reduce(or_, map(self._covered, rule.unless), 0)):
            begins &= ~pattern.within(self._bits, begins).spread(covered, None, forward=False)
        self._begins[rule.id] = begins
        return self._lines(begins & self._own)

    def _covered(self, rule: str) -> int:
        begins = self._begins.get(rule, 0)
        return begins and _patterns()[rule].within(self._bits, begins).spread(begins, None, forward=True)

    def _lines(self, begins: int) -> Iterator[int]:
        while begins:
            at = self._bits.end - begins.bit_length() + 1
            yield self._original(at)
            line_end = self._text.find("\n", at)
            begins &= (1 << self._bits.end - line_end) - 1 if line_end >= 0 else 0

    def _original(self, at: int) -> int:
        number = bisect_right(self._offsets, at) - 1
        return self._spans[number][0] + at - self._offsets[number]


@cache
def _patterns() -> dict[str, Pattern]:
    return {rule.id: Pattern(rule.pattern) for rule in RULES}


class _Words:
    """Finds the words of all patterns in a text."""

    def __init__(self) -> None:
        self._all = frozenset[bytes]().union(*(pattern.words for pattern in _patterns().values()))
        self._numbered = tuple(self._all)
        self._finder = BytesAhoCorasick(self._numbered, MatchKind.Standard, implementation=Implementation.DFA)

    def absent(self, letters: bytes) -> frozenset[bytes]:
        """Return the words that do not occur in a text in lower case."""
        found = {number for number, _, _ in self._finder.find_matches_as_indexes(letters, overlapping=True)}
        return self._all - {self._numbered[number] for number in found}


_words = cache(_Words)
