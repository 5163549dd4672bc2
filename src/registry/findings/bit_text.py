"""Sets of positions of a text as integers: one operation handles all positions, in the same time for any text.

This is the bit-parallel matching of Parabix and icGrep (Cameron et al., "Bitwise data parallelism in regular expression
matching", 2014). The first position of a text is the highest bit: `<<` moves a set towards the beginning of the text,
`>>` towards its end. A text of n characters has the positions 0 to n; bit 0 is its end.
"""

from collections.abc import Callable, Hashable, Iterable, Set
from functools import cached_property

from registry.findings.alphabet import FOLDED, encode

_PLANES = tuple(bytes(ord("0") + (code >> bit & 1) for code in range(256)) for bit in range(8))
"""Tables that translate a code into one of its bits, as a digit."""


class Chars:
    """A set of characters, by their codes."""

    def __init__(self, codes: frozenset[int]) -> None:
        lows: dict[frozenset[int], list[int]] = {}
        for upper in range(16):
            if lower := frozenset(code & 15 for code in codes if code >> 4 == upper):
                lows.setdefault(lower, []).append(upper)
        self.halves = tuple((tuple(uppers), tuple(lower)) for lower, uppers in lows.items())
        """Pairs of upper and lower halves of codes; the union of their products is the set."""
        folded = frozenset(FOLDED[code] for code in codes)
        self.folded = bytes(folded) if len(folded) == 1 else None
        """The code of the character in lower case, if it is only one."""


class Runs:
    """The positions of the characters of a set, and of runs of them."""

    def __init__(self, places: int) -> None:
        self._of = {1: places}

    def of(self, length: int) -> int:
        """Return the positions at which `length` (1 or more) such characters follow each other."""
        if (known := self._of.get(length)) is not None:
            return known
        half = 1 << ((length - 1).bit_length() - 1)
        shorter = self.of(half)
        found = self._of[length] = shorter & shorter << (length - half)
        return found

    def spread(self, marks: int, most: int | None, *, forward: bool) -> int:
        """Return the marks and the positions at most `most` such characters after a mark; backward, before a mark.

        None is any number.
        """
        reach = 0
        while (step := reach + 1 if most is None else min(reach + 1, most - reach)) and (run := self.of(step)):
            wider = marks | ((run & marks) >> step if forward else run & marks << step)
            if wider == marks:
                break
            marks, reach = wider, reach + step
        return marks


class BitText:
    """A text to match patterns in; it caches what several of them need.

    `absent` returns the words that are known not to occur in a text, which it gets in lower case.
    """

    def __init__(self, text: str, absent: Callable[[bytes], Set[bytes]] = lambda _: frozenset()) -> None:
        self._codes = encode(text)
        self._absent = absent(self._codes.translate(FOLDED))
        self.end = len(self._codes)
        self.everywhere = (2 << self.end) - 1
        self._runs: dict[Chars, Runs] = {}
        self._kept: dict[Hashable, int] = {}

    def lacks(self, needs: Iterable[Set[bytes]]) -> bool:
        """Return whether all words of one of the sets are absent."""
        return any(words <= self._absent for words in needs)

    def keep(self, key: Hashable, work_out: Callable[["BitText"], int]) -> int:
        """Return the positions that `work_out` returns, from the cache if the key is known."""
        if (known := self._kept.get(key)) is None:
            known = self._kept[key] = work_out(self)
        return known

    def chars(self, chars: Chars) -> int:
        """Return the positions of the characters of a set."""
        return self.runs(chars).of(1)

    def runs(self, chars: Chars) -> Runs:
        """Return the runs of the characters of a set."""
        if (known := self._runs.get(chars)) is None:
            places = 0
            for uppers, lowers in chars.halves:
                places |= _union(self._upper, uppers) & _union(self._lower, lowers)
            known = self._runs[chars] = Runs(places)
        return known

    @cached_property
    def _upper(self) -> tuple[int, ...]:
        return self._sixteen(_PLANES[4:])

    @cached_property
    def _lower(self) -> tuple[int, ...]:
        return self._sixteen(_PLANES[:4])

    def _sixteen(self, planes: tuple[bytes, ...]) -> tuple[int, ...]:
        every = self.everywhere - 1
        sets = [every]
        for plane in planes:
            ones = int(self._codes.translate(plane) or b"0", 2) << 1
            sets = [one & ~ones for one in sets] + [one & ones for one in sets]
        return tuple(sets)


def _union(sets: tuple[int, ...], chosen: tuple[int, ...]) -> int:
    union = sets[chosen[0]]
    for number in chosen[1:]:
        union |= sets[number]
    return union
