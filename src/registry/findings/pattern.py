"""Patterns: regular expressions that are matched at all positions of a text at once, in time linear in the text.

The syntax is a subset of that of `re`, with the same meaning: `(?i)` and `(?m)` at the beginning, `(?:…)`, `|`, sets,
`?`, `*`, `+` and `{m,n}`, `^` and `$` (with `(?m)` only), `\\b`, lookahead and lookbehind. There are no captures, and a
group is repeated a bounded number of times. Lazy and greedy are the same: a pattern tells where matches begin and the
nearest end of each.
"""

import re
from collections.abc import Callable
from functools import cache

from registry.findings.alphabet import REPRESENTATIVES
from registry.findings.bit_text import BitText, Chars, Runs
from registry.findings.nodes import Choice, Node, Place, Repeat, Run, Series, Word

_FLAGS = re.compile(r"\(\?([im]{1,2})\)")
_SET = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_TIMES = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_SHORT_TIMES = {"?": (0, 1), "*": (0, None), "+": (1, None)}


class Pattern:
    """A compiled pattern. Raises ValueError for syntax that is not supported."""

    def __init__(self, source: str) -> None:
        parser = _Parser(source)
        self._node = parser.pattern()
        self.words = frozenset(parser.words)
        """The words that occur in it, in lower case."""

    def begins(self, text: BitText) -> int:
        """Return the positions at which matches begin."""
        return self._node.cross(text, text.everywhere, forward=False)

    def within(self, text: BitText, begins: int) -> Runs:
        """Return the characters that are not the last one of a match that begins at one of the positions.

        A run of them from such a beginning, and the character after the run, reach to the nearest end of a match.
        """
        return Runs(text.everywhere & ~(self._node.cross(text, begins, forward=True) << 1))


class _Parser:
    def __init__(self, source: str) -> None:
        flags = _FLAGS.match(source)
        self._flags = re.RegexFlag(0)
        for letter in flags[1] if flags else "":
            self._flags |= re.IGNORECASE if letter == "i" else re.MULTILINE
        self._source = source
        self._at = flags.end() if flags else 0
        self.words: set[bytes] = set()

    def pattern(self) -> Node:
        node = self._choice()
        if self._at < len(self._source):
            raise self._unknown()
        return node

    def _unknown(self) -> ValueError:
        return ValueError(f"the syntax is not supported in a pattern: {self._source[self._at :][:20]!r}")

    def _takes(self, text: str) -> bool:
        found = self._source.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def _choice(self) -> Node:
        options = [self._series()]
        while self._takes("|"):
            options.append(self._series())
        return options[0] if len(options) == 1 else Choice(options)

    def _series(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._source) and self._source[self._at] not in "|)":
            part = self._times(self._part())
            if isinstance(part, Word) and parts and isinstance(last := parts[-1], Word):
                parts[-1] = _word((*last.chars, *part.chars))
            else:
                parts.append(part)
        self.words.update(*(need for part in parts if isinstance(part, Word) for need in part.needs))
        return parts[0] if len(parts) == 1 else Series(parts)

    def _times(self, part: Node) -> Node:
        least, most = self._quantity()
        if (least, most) == (1, 1):
            return part
        if isinstance(part, Word) and len(part.chars) == 1:
            return Run(part.chars[0], least, most)
        if most is None:
            raise self._unknown()
        return Repeat(part, least, most)

    def _quantity(self) -> tuple[int, int | None]:
        quantity: tuple[int, int | None] = (1, 1)
        if times := _TIMES.match(self._source, self._at):
            least, comma, most = times.groups()
            quantity = int(least), (int(most) if most else None) if comma else int(least)
            self._at = times.end()
        elif self._at < len(self._source) and self._source[self._at] in _SHORT_TIMES:
            quantity = _SHORT_TIMES[self._source[self._at]]
            self._at += 1
        else:
            return quantity
        self._takes("?")
        return quantity

    def _part(self) -> Node:
        for opening, build in _GROUPS.items():
            if self._takes(opening):
                node = build(self._choice())
                if not self._takes(")"):
                    raise self._unknown()
                return node
        for text, place in _PLACES.items():
            if (text == r"\b" or self._flags & re.MULTILINE) and self._takes(text):
                return place
        return _word((self._chars(),))

    def _chars(self) -> Chars:
        rest = self._source[self._at :]
        if known := _SET.match(rest) or re.match(r"\\.", rest, re.DOTALL):
            one = known[0]
        elif rest[0] in "(*+?^$.":
            raise self._unknown()
        else:
            one = rest[0]
        self._at += len(one)
        return _matching(one if len(one) > 1 else re.escape(one), self._flags)


@cache
def _matching(expression: str, flags: re.RegexFlag) -> Chars:
    """Return the characters that an expression for one character matches."""
    matched = (code for code, character in enumerate(REPRESENTATIVES) if re.fullmatch(expression, character, flags))
    return Chars(frozenset(matched))


@cache
def _word(chars: tuple[Chars, ...]) -> Word:
    """Return the same node for the same word, so that its places are worked out once for all patterns."""
    return Word(chars)


def _ahead(node: Node) -> Place:
    return Place(lambda text: node.cross(text, text.everywhere, forward=False))


def _not_ahead(node: Node) -> Place:
    return Place(lambda text: text.everywhere ^ node.cross(text, text.everywhere, forward=False))


def _behind(node: Node) -> Place:
    return Place(lambda text: node.cross(text, text.everywhere, forward=True))


def _not_behind(node: Node) -> Place:
    return Place(lambda text: text.everywhere ^ node.cross(text, text.everywhere, forward=True))


def _word_ends(text: BitText) -> int:
    letters = text.chars(_LETTERS)
    return letters ^ letters >> 1


_LETTERS = _matching(r"\w", re.RegexFlag(0))
_LINE_FEED = _matching(r"\n", re.RegexFlag(0))
_GROUPS: dict[str, Callable[[Node], Node]] = {
    "(?:": lambda node: node,
    "(?=": _ahead,
    "(?!": _not_ahead,
    "(?<=": _behind,
    "(?<!": _not_behind,
}
_PLACES = {
    r"\b": Place(_word_ends),
    "^": Place(lambda text: text.chars(_LINE_FEED) >> 1 | 1 << text.end),
    "$": Place(lambda text: text.chars(_LINE_FEED) | 1),
}
