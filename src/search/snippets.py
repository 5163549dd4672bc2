"""Passages for people: where a text has the words of a query, and the best passage around them."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from search.lexical.schema import document_terms, query_terms
from search.scripts import is_undivided
from search.snippet import Snippet
from search.text import BODY_CHARACTERS

PASSAGE_CHARACTERS = 240
"""About the length of a passage. A shorter text is its own passage."""

_MOST_TERMS = 24
_MOST_LOOKS = 100
"""How often a text is searched for one query: it bounds the time of a text that nearly matches everywhere."""

_LONGEST_WORD = 60
_CONTEXT = 60
_WORD_END = re.compile(r"[^\W_]*")
_ACCENTED = re.compile(r"[\u00c0-\u024f\u1e00-\u1eff]")
_CASELESS = bytes([*range(0xC0), 0xC2, *range(0xE2, 0xEA), 0xF0])
"""The bytes of texts whose only letters with case are ASCII: dashes, emoji, Chinese. A few symbols are left out."""

_CASELESS_SYMBOLS = (b"\xc3\x97", b"\xef\xb8")
"""Frequent symbols that begin with other bytes: the multiplication sign, and the selectors that follow emoji."""

_MARKS = "#*->|`=~_:+"
_CUT = "…"


class _Folding(dict[int, int]):
    """Maps characters to the lower-case letter without accent that the index has. Texts keep their length."""

    def __missing__(self, code: int) -> int:
        if code > 0x24F and not 0x1E00 <= code <= 0x1EFF:  # no Latin letter
            return code
        letter = unicodedata.normalize("NFD", chr(code))[0].lower()
        folded = self[code] = ord(letter) if len(letter) == 1 else code
        return folded


_FOLDING = _Folding()


@lru_cache(maxsize=16_384)
def _term(word: str) -> str:
    """Return the term of a folded word."""
    return next(iter(document_terms(word)), "")


def _folded(text: str) -> str:
    """Return a text of the same length in lower case and without accents."""
    if text.isascii():
        return text.lower()
    encoded = text.encode("utf-8", "surrogatepass")
    left = len(encoded.translate(None, _CASELESS))
    if not left or left == sum(map(encoded.count, _CASELESS_SYMBOLS)):  # a fifth of the time of `str.lower`
        return encoded.lower().decode("utf-8", "surrogatepass")
    lowered = text.lower()
    return lowered if len(lowered) == len(text) and not _ACCENTED.search(lowered) else text.translate(_FOLDING)


class Wanted(NamedTuple):
    """A term to look for. `start` is what all its words begin with, and may be a `word` with this term itself.

    An `undivided` term is looked for as it is.
    """

    term: str
    start: str
    word: bool
    undivided: bool


def wanted(query: str) -> list[Wanted]:
    """Return the terms of a normalized query to look for in texts, at most 24."""
    return [_wanted(term) for term in list(query_terms(query))[:_MOST_TERMS]]


@lru_cache(maxsize=4_096)
def _wanted(term: str) -> Wanted:
    """Return what to look for. Every word of the stem `happi` begins with `happ`, every one of `hope` with `hop`."""
    start = term[:-1] if len(term) > 2 and term[-1] in "iel" else term
    return Wanted(term, start, _term(start) == term, is_undivided(term))


Match = tuple[int, int, int]
"""The start and end of a word, and the index of its term."""


def _matches(text: str, terms: Sequence[Wanted]) -> list[Match]:
    """Return the places of a text that match, by start.

    A word matches if the keyword index would find it. The time is linear in the text, with at most 100 looks. The terms
    share them, so that a frequent one leaves some for the others; in the next round it gets what they have not used.
    """
    folded = _folded(text)
    find = folded.find
    matches: list[Match] = []
    looks = _MOST_LOOKS
    unfinished = [(index, first, term) for index, term in enumerate(terms) if (first := find(term.start)) >= 0]
    while unfinished and looks:
        queue, unfinished = unfinished, []
        for number, (index, first, term) in enumerate(queue):
            reserve = looks - looks // (len(queue) - number)
            at, (_, start, _, undivided) = first, term
            while at >= 0 and looks > reserve:
                looks -= 1
                if undivided:
                    end = at + len(start)
                elif at and folded[at - 1].isalnum():
                    end = 0
                else:
                    end = _word_end(folded, at, term)
                if end:
                    matches.append((at, end, index))
                at = find(start, end or at + 1)
            if at >= 0:
                unfinished.append((index, at, term))
    matches.sort()
    return matches


def _word_end(folded: str, start: int, wanted: Wanted) -> int:
    """Return where the word that starts at `start` ends if it has this term, else 0."""
    term, beginning, word, _ = wanted
    end = start + len(beginning)
    if not folded[end : end + 1].isalnum():
        return end if word else 0
    match = _WORD_END.match(folded, end, start + _LONGEST_WORD + 1)
    end = match.end() if match else end
    return end if end - start <= _LONGEST_WORD and _term(folded[start:end]) == term else 0


def _joined(matches: Sequence[Match]) -> list[tuple[int, int]]:
    """Return the places as ranges that neither overlap nor touch."""
    ranges: list[tuple[int, int]] = []
    for start, end, _ in matches:
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
        else:
            ranges.append((start, end))
    return ranges


def _best_start(matches: Sequence[Match]) -> int:
    """Return the start of the match from which on a passage has the most different terms, then the most matches."""
    best, best_at, last, different = (0, 0), 0, 0, 0
    inside = [0] * _MOST_TERMS
    count = len(matches)
    for first, (start, _, index) in enumerate(matches):
        reach = start + PASSAGE_CHARACTERS - _CONTEXT
        while last < count and matches[last][1] <= reach:
            of = matches[last][2]
            different += not inside[of]
            inside[of] += 1
            last += 1
        if (value := (different, last - first)) > best:
            best, best_at = value, start
        if last == count:  # the passages from here on have no more
            break
        if inside[index] == 1:
            different -= 1
        inside[index] -= 1
    return best_at


def _cut(text: str, around: int) -> tuple[int, int]:
    """Return where the passage of a text around a place starts and ends, at whole words."""
    start = max(0, around - _CONTEXT)
    end = min(len(text), start + PASSAGE_CHARACTERS)
    if start and (space := text.find(" ", start, around)) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", around + _CONTEXT, end)) >= 0:
        end = space
    return start, end


def description_snippet(description: str, terms: Sequence[Wanted]) -> Snippet | None:
    """Return the passage of a description, None if it has no word of the query."""
    matches = _matches(description[:BODY_CHARACTERS], terms)
    return _snippet("description", description[:BODY_CHARACTERS], matches) if matches else None


def body_snippet(body: str, terms: Sequence[Wanted]) -> Snippet | None:
    """Return the best passage of what the index has of a body, without its markup; None if it has no word."""
    text = body[:BODY_CHARACTERS]
    matches = _matches(text, terms)
    if not matches:
        return None
    at = _best_start(matches)
    near = text[max(0, at - 3 * _CONTEXT) : at + 2 * PASSAGE_CHARACTERS]  # markup is removed from this part only
    plain = _plain(near)
    return _snippet("body", plain, _matches(plain, terms))


def _plain(markdown: str) -> str:
    """Return a piece of Markdown as one line without the marks of headings, lists, tables, emphasis and code."""
    words = [word for word in markdown.split() if word[0] not in _MARKS or word.strip(_MARKS)]
    return " ".join(words).replace("**", "").replace("`", "")


def _snippet(field: Literal["description", "body"], text: str, matches: Sequence[Match]) -> Snippet:
    if len(text) <= PASSAGE_CHARACTERS + _CONTEXT:
        return Snippet(field=field, text=text, ranges=_joined(matches))
    start, end = _cut(text, _best_start(matches))
    before, after = _CUT if start else "", _CUT if end < len(text) else ""
    passage = text[start:end].strip()
    start = text.index(passage, start)
    end = start + len(passage)
    moved = len(before) - start
    ranges = [
        (max(first, start) + moved, min(last, end) + moved)
        for first, last in _joined(matches)
        if first < end and last > start
    ]
    return Snippet(field=field, text=f"{before}{passage}{after}", ranges=ranges)
