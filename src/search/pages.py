"""The page of a ranking that a request asks for, with the card of each hit."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from search.fusion import Ranking
from search.requests import Hit, SearchRequest

Cards = Callable[[Sequence[int]], Mapping[int, tuple[str, bytes]]]
"""Returns id and card of each of some documents that still exists."""


def page_of(ranking: Ranking, request: SearchRequest, cards: Cards) -> list[Hit]:
    """Return the hits of the requested page, without weak ones if the request leaves them out or has another order."""
    if not request.weak or request.order is not None:
        close = np.flatnonzero(~ranking.is_weak)
        ranking = ranking.shown_at(close, close)
    count = ranking.count_at_least(request.min_score)
    start, end = request.offset, min(request.offset + request.limit, count)
    if start >= end:
        return []
    if request.order is not None:
        return _in_order(ranking, request.order(ranking.keys(count))[start:end], cards)
    return _by_score(ranking, start, end, cards)


def _by_score(ranking: Ranking, start: int, end: int, cards: Cards) -> list[Hit]:
    """Return the hits from rank `start` to `end`. Those with equal scores are ordered by id, also across pages."""
    ties = ranking.with_ties(start, end)
    page_cards = cards(ties.keys)
    ordered = sorted(
        (score, page_cards[key][0], rank)
        for rank, (key, score) in enumerate(zip(ties.keys, ties.negated_scores, strict=True), ties.first)
        if key in page_cards
    )
    return _hits(ranking, [rank for _, _, rank in ordered[start - ties.first : end - ties.first]], page_cards)


def _in_order(ranking: Ranking, keys: Sequence[int], cards: Cards) -> list[Hit]:
    page_cards, ranks = cards(keys), {key: rank for rank, key in enumerate(ranking.all_keys().tolist())}
    return _hits(ranking, [ranks[key] for key in keys if key in page_cards], page_cards)


def _hits(ranking: Ranking, ranks: Sequence[int], cards: Mapping[int, tuple[str, bytes]]) -> list[Hit]:
    return [
        Hit(key, cards[key][0], score, relevance, matched_by, cards[key][1])
        for key, score, relevance, matched_by in ranking.at(ranks)
    ]
