"""Regular expressions that are matched at all positions of a text at once, in time linear in the text.

The syntax is a subset of the syntax of `re`, with the same meaning: `(?i)` and `(?m)` at the beginning, `(?:…)`, `|`,
sets, `?`, `*`, `+` and `{m,n}`, `^` and `$` (with `(?m)` only), `\\b`, lookahead and lookbehind. There are no captures,
and repetitions of a group are bounded. Lazy and greedy are the same: a pattern returns where matches begin and the
nearest end of each.
"""

import re
from collections.abc import Callable
from functools import cache

from registry.findings.alphabet import REPRESENTATIVES
from registry.findings.bit_text import BitText, Chars, Runs
from registry.findings.nodes import Assertion, Choice, Node, Repeat, Run, Series, Word

_FLAGS = re.compile(r"\(\?([im]{1,2})\)")
_SET_OR_ESCAPE = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]|\\.", re.DOTALL)
_BOUNDS = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_QUANTIFIERS = {"?": (0, 1), "*": (0, None), "+": (1, None)}


class Pattern:
    """A compiled pattern. Raises ValueError for syntax that is not supported."""

    def __init__(self, source: str) -> None:
        parser = _Parser(source)
        self._node = parser.pattern()
        self.words = frozenset(parser.words)
        """The words of the pattern, in lower case."""

    def begins(self, text: BitText) -> int:
        """Return the positions at which matches begin."""
        return self._node.cross(text, text.everywhere, forward=False)

    def within(self, text: BitText, begins: int) -> Runs:
        """Return the characters that are not the last one of a match that begins at one of the positions.

        From such a position, a run of them and the character after it extend to the nearest end of a match.
        """
        return Runs(text.everywhere & ~(self._node.cross(text, begins, forward=True) << 1))


class _Parser:
    def __init__(self, source: str) -> None:
        flags = _FLAGS.match(source)
        self._flags = re.RegexFlag(0)
        for letter in flags[1] if flags else "":
            self._flags |= re.IGNORECASE if letter == "i" else re.MULTILINE
        has_lines = re.MULTILINE in self._flags
        self._assertions = {text: one for text, one in _ASSERTIONS.items() if has_lines or text == r"\b"}
        self._source = source
        self._at = flags.end() if flags else 0
        self.words: set[bytes] = set()

    def pattern(self) -> Node:
        node = self._choice()
        if self._at < len(self._source):
            raise self._unsupported()
        return node

    def _unsupported(self) -> ValueError:
        return ValueError(f"unsupported pattern syntax: {self._source[self._at :][:20]!r}")

    def _accept(self, text: str) -> bool:
        """Skip `text` if it comes next, and return whether it did."""
        is_next = self._source.startswith(text, self._at)
        self._at += len(text) * is_next
        return is_next

    def _choice(self) -> Node:
        options = [self._series()]
        while self._accept("|"):
            options.append(self._series())
        return options[0] if len(options) == 1 else Choice(options)

    def _series(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._source) and self._source[self._at] not in "|)":
            part = self._repeated(self._atom())
            if isinstance(part, Word) and parts and isinstance(last := parts[-1], Word):
                parts[-1] = _word((*last.chars, *part.chars))
            else:
                parts.append(part)
        self.words.update(*(need for part in parts if isinstance(part, Word) for need in part.needs))
        return parts[0] if len(parts) == 1 else Series(parts)

    def _repeated(self, part: Node) -> Node:
        least, most = self._quantity()
        if (least, most) == (1, 1):
            return part
        if isinstance(part, Word) and len(part.chars) == 1:
            return Run(part.chars[0], least, most)
        if most is None:
            raise self._unsupported()
        return Repeat(part, least, most)

    def _quantity(self) -> tuple[int, int | None]:
        quantity: tuple[int, int | None] = (1, 1)
        if bounds := _BOUNDS.match(self._source, self._at):
            least, comma, most = bounds.groups()
            quantity = int(least), (int(most) if most else None) if comma else int(least)
            self._at = bounds.end()
        elif self._at < len(self._source) and self._source[self._at] in _QUANTIFIERS:
            quantity = _QUANTIFIERS[self._source[self._at]]
            self._at += 1
        else:
            return quantity
        self._accept("?")
        return quantity

    def _atom(self) -> Node:
        if self._source[self._at] == "(":
            for opening, build in _GROUPS.items():
                if self._accept(opening):
                    node = build(self._choice())
                    if not self._accept(")"):
                        raise self._unsupported()
                    return node
        for text, assertion in self._assertions.items():
            if self._accept(text):
                return assertion
        return _word((self._chars(),))

    def _chars(self) -> Chars:
        if known := _SET_OR_ESCAPE.match(self._source, self._at):
            source = known[0]
        elif (source := self._source[self._at]) in "(*+?^$.":
            raise self._unsupported()
        self._at += len(source)
        return _matching(source, self._flags)


@cache
def _matching(expression: str, flags: re.RegexFlag) -> Chars:
    """Return the characters that a character, a set or an escape sequence matches."""
    if len(expression) == 1:
        expression = re.escape(expression)
    return Chars(frozenset(found.start() for found in re.finditer(expression, REPRESENTATIVES, flags)))


@cache
def _word(chars: tuple[Chars, ...]) -> Word:
    """Return the same node for the same word, so that its positions are computed once for all patterns."""
    return Word(chars)


def _ahead(node: Node) -> Assertion:
    return Assertion(lambda text: node.cross(text, text.everywhere, forward=False))


def _not_ahead(node: Node) -> Assertion:
    return Assertion(lambda text: text.everywhere ^ node.cross(text, text.everywhere, forward=False))


def _behind(node: Node) -> Assertion:
    return Assertion(lambda text: node.cross(text, text.everywhere, forward=True))


def _not_behind(node: Node) -> Assertion:
    return Assertion(lambda text: text.everywhere ^ node.cross(text, text.everywhere, forward=True))


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
_ASSERTIONS = {
    r"\b": Assertion(_word_ends),
    "^": Assertion(lambda text: text.chars(_LINE_FEED) >> 1 | 1 << text.end),
    "$": Assertion(lambda text: text.chars(_LINE_FEED) | 1),
}
