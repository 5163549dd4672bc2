"""Matches the rules in a text: at most three lines per rule, in time linear in the text."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, reduce
from itertools import accumulate
from operator import attrgetter, or_
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation, MatchKind

from registry.findings.bit_text import BitText
from registry.findings.hints import Span, hinted, merged
from registry.findings.pattern import Pattern
from registry.findings.rule import Rule
from registry.findings.rules import RULES

_MAX_PER_RULE = 3
_BLOCK = 64 * 1024
"""Characters that are matched at once. This bounds memory and keeps the position sets in the CPU cache."""
_OVERLAP = 4 * 1024
"""The longest match that is found at any position of a line that is longer than a block."""
_SEAM = "\n\0\n"
"""Separates lines that are not adjacent in the text, so that no match extends across them."""
_INVISIBLE = re.compile(
    r"[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\u3164\ufe00-\ufe0e\ufeff\uffa0\U000e0000-\U000e01ef]"
)
_UNHINTED = frozenset(rule.id for rule in RULES if not rule.hints and not rule.words)
"""The rules for invisible characters."""


class Match(NamedTuple):
    """A rule and the offset of its match in the text."""

    rule: Rule
    at: int


def matches(text: str, *, prose: bool) -> list[Match]:
    """Return at most three matches of each rule, on different lines, in order. `prose`: Markdown or plain text."""
    ids, spans = hinted(text)
    if not text.isascii() and (hidden := list(_invisible_lines(text))):
        ids |= _UNHINTED
        spans = merged([*spans, *hidden])
    rules = [rule for rule in RULES if rule.id in ids and (prose or not rule.prose)]
    searches = [_RuleSearch(text, rule) for rule in rules]
    for block in _blocks(text, spans) if rules else ():
        for search in searches:
            search.add(block)
    return sorted((Match(search.rule, at) for search in searches for at in search.offsets), key=attrgetter("at"))


class _RuleSearch:
    """The matches of one rule so far."""

    def __init__(self, text: str, rule: Rule) -> None:
        self.rule = rule
        self.offsets: list[int] = []
        self._text = text
        self._reported_to = 0

    def add(self, block: "_Block") -> None:
        """Match the rule in the next block."""
        for at in block.matches(self.rule):
            if len(self.offsets) == _MAX_PER_RULE:
                break
            if at >= self._reported_to:
                self.offsets.append(at)
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
    """Yield blocks: short spans joined, long spans in overlapping parts."""
    block: list[Span] = []
    size = 0
    for start, end in spans:
        if block and size + end - start > _BLOCK:
            yield _Block(text, block)
            block, size = [], 0
        if end - start > _BLOCK:
            for part in range(start, end, _BLOCK):
                # The preceding character decides whether there is a word boundary.
                context = max(part - 1, start), min(part + _BLOCK + _OVERLAP, end)
                yield _Block(text, [context], (part, part + _BLOCK))
        else:
            block.append((start, end))
            size += end - start
    if block:
        yield _Block(text, block)


class _Block:
    """Lines of a text that are matched at once. With `own`, only matches that begin within it count."""

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

    def matches(self, rule: Rule) -> Iterator[int]:
        """Return the first match of a rule in each line. Call this for the rules in `unless` first."""
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
            yield self._offset_in_text(at)
            line_end = self._text.find("\n", at)
            begins &= (1 << self._bits.end - line_end) - 1 if line_end >= 0 else 0

    def _offset_in_text(self, at: int) -> int:
        number = bisect_right(self._offsets, at) - 1
        return self._spans[number][0] + at - self._offsets[number]


@cache
def _patterns() -> dict[str, Pattern]:
    return {rule.id: Pattern(rule.pattern) for rule in RULES}


class _Words:
    """Finds the words of all patterns."""

    def __init__(self) -> None:
        self._all = frozenset[bytes]().union(*(pattern.words for pattern in _patterns().values()))
        self._numbered = tuple(self._all)
        self._finder = BytesAhoCorasick(self._numbered, MatchKind.Standard, implementation=Implementation.DFA)

    def absent(self, letters: bytes) -> frozenset[bytes]:
        """Return the words that do not occur in a lower-case text."""
        present = {number for number, _, _ in self._finder.find_matches_as_indexes(letters, overlapping=True)}
        return self._all - {self._numbered[number] for number in present}


_words = cache(_Words)
