"""How many documents a search found: counted where that is cheap, else the number that is known."""

from typing import NamedTuple

from search.fusion import Ranking, Signals
from search.lexical.concurrent_query import LexicalQuery
from search.vectors.base import VectorIndex


class Total(NamedTuple):
    """The number of hits on all pages; with `is_floor`, at least as many. `keys` are those that were ranked."""

    number: int
    is_floor: bool
    keys: list[int]


def count_hits(
    ranking: Ranking,
    min_score: float,
    query: LexicalQuery,
    signals: Signals,
    index: VectorIndex | None,
    depth: int,
) -> Total:
    """Return how many documents a search found. Each index contributed the best ones, up to its depth.

    Only a search by words alone counts what lies deeper.
    """
    known = ranking.count_at_least(min_score)
    keys = ranking.keys(known)
    has_more_words = int((signals.bm25 > 0).sum()) >= query.limit
    if index is None and signals.with_words is not None:
        return Total(max(known, signals.with_words), is_floor=False, keys=keys)
    # If fewer hits than the depth were ranked, the farthest of the nearest documents is no hit, and so are all others.
    has_more_vectors = index is not None and len(ranking) >= depth
    return Total(known, is_floor=has_more_words or has_more_vectors, keys=keys)
