"""Two requests in one prompt get places of their own on the first page.

The vector of a prompt about two things is near to none, and the words of the longer request outweigh the other's. So a
short prompt is divided once, where its sides are least alike, and both sides are searched too. They are two requests if
each finds on its own what suits it better than anything suits the whole, by a logistic function (`_WEIGHTS`). Then the
first hit of the whole stays first, and the others on the page are the two best of each side and those of all three
searches that have most of the evidence of the first hit of their search.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from embeddings.base import Matrix, unit_vector
from search.fusion import PAGE, Fused, Ranking, evidence_of
from search.lexical.concurrent_query import LexicalQuery
from search.prompt.divisions import Division, Divisions
from search.types import Match

_MOST_ALIKE = 0.3
"""The cosine of the sides above which they are parts of one request."""

_SURE = 2
"""The first hits of each side that are on the page whatever the others are."""

_WEIGHTS = (-5.6, -7.9, 1.06, 1.98, -1.91, -0.58)
"""The weights of 1, the cosine, the evidence of the weaker and the stronger side and of the whole, and common hits."""

_MARKED = 2.0
"""What is added where the prompt says itself that something else follows."""


class Sides(NamedTuple):
    """The texts on both sides of a division, the vector of each, shape (2, dimension), and their cosine.

    `is_marked` is that of the division.
    """

    texts: tuple[str, str]
    vectors: Matrix
    cosine: float
    is_marked: bool


class Divided(NamedTuple):
    """The sides of a query that may hold two requests: of each, its query, its keyword search, and its vector.

    The keyword searches have begun. The vectors have the shape (1, dimension).
    """

    sides: Sides
    searches: Sequence[tuple[LexicalQuery, Callable[[], Match], Matrix]]


def least_alike(divisions: Divisions, pieces: Matrix) -> Sides | None:
    """Return the sides of the division whose sides are least alike, None if all are too much alike.

    `pieces` are the vectors of the pieces. The vector of a side is their mean, weighted by their words.
    """
    words = np.array([len(piece.split()) for piece in divisions.pieces], np.float32)
    sides = [_sides(place, pieces, words) for place in divisions.places]
    best = min(sides, key=lambda side: side.cosine, default=None)
    return best if best is not None and best.cosine <= _MOST_ALIKE else None


def _sides(place: Division, pieces: Matrix, words: Matrix) -> Sides:
    vectors = np.vstack(
        [unit_vector(words[part] @ pieces[part]) for part in (slice(None, place.pieces), slice(place.pieces, None))]
    )
    return Sides((place.before, place.after), vectors, float(vectors[0] @ vectors[1]), place.is_marked)


def with_both(whole: Ranking, halves: Sequence[Ranking], sides: Sides) -> Ranking:
    """Return the ranking of the whole, with the first page filled from both sides too if they are two requests."""
    own, *pages = (ranking[:PAGE] for ranking in (whole, *halves))
    # What has no evidence at all, such as a side of unknown words, is no request.
    if not all(page and evidence_of(page[0].score) > 0 for page in (own, *pages)):
        return whole
    if not _are_two_requests(own[0], pages, sides):
        return whole
    first, ranked = own[0], set(whole.keys(len(whole)))
    best: dict[int, tuple[float, Fused]] = {}
    for page, sure in ((own, 1), *((page, _SURE) for page in pages)):
        most = evidence_of(page[0].score)
        for rank, hit in enumerate(page):
            share = evidence_of(hit.score) / most + (rank < sure)
            if hit.key in ranked and (hit.key not in best or share > best[hit.key][0]):
                best[hit.key] = share, hit
    best[first.key] = math.inf, best[first.key][1]
    leaders = sorted(best.values(), key=lambda each: (-each[0], each[1].key))
    return whole.led_by([hit for _, hit in leaders[:PAGE]])


def _are_two_requests(best: Fused, pages: Sequence[Sequence[Fused]], sides: Sides) -> bool:
    evidence = sorted(evidence_of(page[0].score) for page in pages)
    first_keys, second_keys = ({hit.key for hit in page[:PAGE]} for page in pages)
    features = (1.0, sides.cosine, *evidence, evidence_of(best.score), len(first_keys & second_keys))
    return float(np.dot(_WEIGHTS, features)) + _MARKED * sides.is_marked >= 0
