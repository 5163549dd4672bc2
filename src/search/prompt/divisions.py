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
    r"[\W\d]*+(?:and )?(?:also|additionally|in addition|besides|plus|next|second(?:ly)?|then|as well as"
    r"|after(?:wards| that| this)|(?:once|when) (?:that|this|it)(?: is|'s))\b",
    re.IGNORECASE,
)
_AT_NUMBER = re.compile(r"^[ \t]*+\d{1,2}\.\Z", re.MULTILINE)
"""The number of an item of a list, which is no sentence."""

_LEAD = re.compile(
    r"(?:[\W\d]{0,20}?(?:\d{1,2}[.)]|[-*•])\s++)?+"
    r"(?:[\W\d]{0,20}+(?:and|also|additionally|in addition|besides|plus|next|first(?:ly)?|second(?:ly)?|then|finally"
    r"|as well as|after(?:wards| that| this)|(?:once|when) (?:that|this|it)(?: is|'s)(?: \w++)?)(?=\W)[\s,:;]*+)*+",
    re.IGNORECASE,
)
"""The number and the words at the beginning of a piece that say only where it stands. A search would use them too."""

_TWO_THINGS = re.compile(r"\b(?:two|both|couple of) (?:things|questions|tasks|requests|jobs)\b", re.IGNORECASE)
_ANNOUNCEMENT = re.compile(
    r"[^.:!?\n]{0,40}?\b(?:two|both|couple of) (?:things|questions|tasks|requests|jobs)\b[^.:!?\n]{0,20}[.:!?]\s++",
    re.IGNORECASE,
)
"""The beginning of a prompt that only says that two requests follow, such as `I have two questions:`."""

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
    """The pieces of a prompt between its boundaries, and where it may be divided.

    Pieces and sides are without the words that say only where they stand.
    """

    pieces: Sequence[str]
    places: Sequence[Division]


def divisions(text: str) -> Divisions:
    """Return where a prompt may be divided; no places if it is long, has no boundary, or too many."""
    if text.count(" ") + text.count("\n") >= _MOST_WORDS:
        return Divisions([], [])
    says_two = _TWO_THINGS.search(text) is not None
    if says_two and (announcement := _ANNOUNCEMENT.match(text)):
        text = text[announcement.end() :]
    boundaries = [each for each in _BOUNDARY.finditer(text) if not _AT_NUMBER.search(text, 0, each.start())]
    if not 0 < len(boundaries) < _MOST_PIECES:
        return Divisions([], [])
    ends, starts = [*(each.start() for each in boundaries), len(text)], [0, *(each.end() for each in boundaries)]
    pieces = [_without_lead(text[start:end]) for start, end in zip(starts, ends, strict=True)]
    places = []
    for number, each in enumerate(boundaries, 1):
        before, after = text[: each.start()], text[each.end() :]
        if min(len(before.split()), len(after.split())) >= _SIDE_WORDS:
            is_marked = says_two or "\n" in each[0] or _MARK.match(text, each.start()) is not None
            places.append(Division(number, _without_lead(before), _without_lead(after), is_marked))
    marked = [place for place in places if place.is_marked]
    return Divisions(pieces, marked or places)


def _without_lead(text: str) -> str:
    """Return a piece without the words that say only where it stands; the piece itself if it has no other words."""
    lead = _LEAD.match(text)  # `sub` would look for one everywhere
    return (text[lead.end() :] if lead else text).strip() or text.strip()
