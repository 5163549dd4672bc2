"""The nodes of a compiled pattern. Each moves a set of text positions across its matches, forward or backward."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Protocol

from registry.findings.bit_text import BitText, Chars

Needs = tuple[frozenset[bytes], ...]
"""Sets of lower-case words. A text that matches contains a word of each set."""


class Node(Protocol):
    """A node of a pattern."""

    @property
    def needs(self) -> Needs:
        """The words that a text needs to match."""
        ...

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """Return the end positions of matches that begin at one of the marks; backward, the begin positions."""
        ...


class Word:
    """A sequence of characters, each from a set."""

    def __init__(self, chars: tuple[Chars, ...]) -> None:
        self.chars = chars
        folded = b"".join(char.folded for char in chars if char.folded)
        self.needs: Needs = (frozenset({folded}),) if len(folded) == len(chars) > 1 else ()

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """See `Node.cross`."""
        begins = text.cached(self, self._begins)
        return (begins & marks) >> len(self.chars) if forward else begins & marks << len(self.chars)

    def _begins(self, text: BitText) -> int:
        if text.lacks(self.needs):
            return 0
        begins = text.chars(self.chars[-1])
        for chars in self.chars[-2::-1]:
            if not begins:
                break
            begins = text.chars(chars) & begins << 1
        return begins


@dataclass(frozen=True, eq=False)
class Run:
    """`least` to `most` characters from a set. If `most` is None, the number is unlimited."""

    chars: Chars
    least: int
    most: int | None
    needs: Needs = ()

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """See `Node.cross`."""
        runs = text.runs(self.chars)
        if self.least:
            run = runs.of(self.least)
            marks = (run & marks) >> self.least if forward else run & marks << self.least
        return runs.spread(marks, None if self.most is None else self.most - self.least, forward=forward)


class Series:
    """A sequence of nodes."""

    def __init__(self, parts: Sequence[Node]) -> None:
        self.parts = parts
        self.needs = tuple(dict.fromkeys(need for part in parts for need in part.needs))

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """See `Node.cross`."""
        if text.lacks(self.needs):
            return 0
        for part in self.parts if forward else reversed(self.parts):
            if not marks:
                break
            marks = part.cross(text, marks, forward=forward)
        return marks


class Choice:
    """An alternation of nodes."""

    def __init__(self, options: Sequence[Node]) -> None:
        self.options = options
        every = all(option.needs for option in options)
        self.needs = (frozenset[bytes]().union(*(min(option.needs, key=len) for option in options)),) if every else ()

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """See `Node.cross`."""
        return reduce(or_, (option.cross(text, marks, forward=forward) for option in self.options))


@dataclass(frozen=True, eq=False)
class Repeat:
    """A node, repeated `least` to `most` times."""

    part: Node
    least: int
    most: int

    @property
    def needs(self) -> Needs:
        """The words that a text needs to match."""
        return self.part.needs if self.least else ()

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """See `Node.cross`."""
        for _ in range(self.least):
            marks = self.part.cross(text, marks, forward=forward)
        for _ in range(self.most - self.least):
            wider = marks | self.part.cross(text, marks, forward=forward)
            if wider == marks:
                break
            marks = wider
        return marks


@dataclass(frozen=True, eq=False)
class Assertion:
    """A zero-width assertion: a condition on a position."""

    holds: Callable[[BitText], int]
    needs: Needs = ()

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """Return the marks where the condition holds."""
        return marks & text.cached(self, self.holds)
