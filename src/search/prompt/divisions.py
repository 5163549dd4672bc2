"""Where a short prompt may be divided into two requests: between sentences and list items, and at `and then`, `also`.

A place is only possible. Whether both sides are requests, their searches tell: `search.two_requests`. Where the prompt
says so itself, by a list, a line of its own or words such as *then* and *also*, it is divided only there.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_BOUNDARY = re.compile(
    r"(?<=[.!?;])\s++|\n++|(?:,\s++|(?<![\s,])\s++)(?:and\ then|and\ also|as\ well\ as|then|also|plus|and)\s++(?=\S)",
    re.VERBOSE | re.IGNORECASE,
)
_MARK = re.compile(
    r"[\W\d]*+(?:and )?(?:also|additionally|besides|plus|next|second(?:ly)?|then|as well as"
    r"|after(?:wards| that| this)|(?:once|when) (?:that|this|it)(?: is|'s))\b",
    re.IGNORECASE,
)
_TWO_THINGS = re.compile(r"\b(?:two|both|couple of) (?:things|questions|tasks|requests|jobs)\b", re.IGNORECASE)
_MOST_WORDS = 60
"""The words of a prompt that may be divided. In a longer one, sentences are steps, conditions and background."""

_MOST_PIECES = 8
_SIDE_WORDS = 3
"""The words that a side has at least."""


class Division(NamedTuple):
    """A place between pieces: the number of pieces before it, and the text on both sides.

    `is_marked` is true where the text says that something else follows: by a list, a line of its own, or words.
    """

    pieces: int
    before: str
    after: str
    is_marked: bool = False


class Divisions(NamedTuple):
    """The pieces of a prompt between its boundaries, and where it may be divided."""

    pieces: Sequence[str]
    places: Sequence[Division]


def divisions(text: str) -> Divisions:
    """Return where a prompt may be divided; no places if it is long, has no boundary, or too many."""
    if text.count(" ") + text.count("\n") >= _MOST_WORDS:
        return Divisions([], [])
    boundaries = list(_BOUNDARY.finditer(text))
    if not 0 < len(boundaries) < _MOST_PIECES:
        return Divisions([], [])
    ends, starts = [*(each.start() for each in boundaries), len(text)], [0, *(each.end() for each in boundaries)]
    pieces = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    says_two = _TWO_THINGS.search(text) is not None
    sides = [
        Division(
            number,
            text[: each.start()].strip(),
            text[each.end() :].strip(),
            says_two or "\n" in each[0] or _MARK.match(text, each.start()) is not None,
        )
        for number, each in enumerate(boundaries, 1)
    ]
    places = [side for side in sides if min(len(side.before.split()), len(side.after.split())) >= _SIDE_WORDS]
    marked = [place for place in places if place.is_marked]
    return Divisions(pieces, marked or places)
