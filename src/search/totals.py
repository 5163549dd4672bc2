"""How many documents a search found: counted where that is cheap, else the number that is known."""

from typing import NamedTuple

from search.fusion import Signals
from search.lexical.concurrent_query import LexicalQuery
from search.places import Places
from search.vectors.base import VectorIndex


class Total(NamedTuple):
    """The number of hits on all pages; with `is_floor`, at least as many. `keys` are those that were ranked."""

    number: int
    is_floor: bool
    keys: list[int]


def count_hits(
    places: Places,
    min_score: float,
    query: LexicalQuery,
    signals: Signals,
    index: VectorIndex | None,
    depth: int,
    copies: int,
) -> Total:
    """Return how many places a search has. Each index contributed the best documents, up to its depth.

    Only a search by words alone counts what lies deeper, where up to `copies` documents may have no place of their own.
    """
    ranking, left_out = places
    known = ranking.count_at_least(min_score)
    keys = ranking.keys(known)
    has_more_words = int((signals.bm25 > 0).sum()) >= query.limit
    if index is None and signals.with_words is not None:
        deeper = max(0, signals.with_words - known - left_out)
        may_be_left_out = min(deeper, copies - left_out)
        return Total(known + deeper - may_be_left_out, is_floor=may_be_left_out > 0, keys=keys)
    # If fewer hits than the depth were ranked, the farthest of the nearest documents is no hit, and so are all others.
    has_more_vectors = index is not None and len(ranking) + left_out >= depth
    return Total(known, is_floor=has_more_words or has_more_vectors, keys=keys)
