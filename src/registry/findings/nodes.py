"""The parts of a pattern: each moves a set of positions of a text over what it matches, forward or backward."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Protocol

from registry.findings.bit_text import BitText, Chars

Needs = tuple[frozenset[bytes], ...]
"""Sets of words in lower case: a text that matches contains a word of each set."""


class Node(Protocol):
    """A part of a pattern."""

    @property
    def needs(self) -> Needs:
        """What a text that matches contains."""
        ...

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """Return the positions where it ends if it begins at one of the marks; backward, those where it begins."""
        ...


class Word:
    """A sequence of characters, each from a set."""

    def __init__(self, chars: tuple[Chars, ...]) -> None:
        self.chars = chars
        folded = b"".join(one.folded for one in chars if one.folded)
        self.needs: Needs = (frozenset({folded}),) if len(folded) == len(chars) > 1 else ()

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """See `Node.cross`."""
        begins = text.keep(self, self._begins)
        return (begins & marks) >> len(self.chars) if forward else begins & marks << len(self.chars)

    def _begins(self, text: BitText) -> int:
        if text.lacks(self.needs):
            return 0
        found = text.chars(self.chars[-1])
        for chars in self.chars[-2::-1]:
            if not found:
                break
            found = text.chars(chars) & found << 1
        return found


@dataclass(frozen=True, eq=False)
class Run:
    """`least` to `most` characters from a set; None is any number."""

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
    """A sequence of parts."""

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
    """One of several parts."""

    def __init__(self, options: Sequence[Node]) -> None:
        self.options = options
        every = all(option.needs for option in options)
        self.needs = (frozenset[bytes]().union(*(min(option.needs, key=len) for option in options)),) if every else ()

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """See `Node.cross`."""
        return reduce(or_, (option.cross(text, marks, forward=forward) for option in self.options))


@dataclass(frozen=True, eq=False)
class Repeat:
    """A part `least` to `most` times."""

    part: Node
    least: int
    most: int

    @property
    def needs(self) -> Needs:
        """What a text that matches contains."""
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
class Place:
    """A condition on a position; it matches no character."""

    holds: Callable[[BitText], int]
    needs: Needs = ()

    def cross(self, text: BitText, marks: int, *, forward: bool) -> int:
        """Return the marks where it holds."""
        return marks & text.keep(self, self.holds)
