"""Places in a ranking: near-copies take one, which the original has unless a copy has a reason to be shown instead."""

from bisect import bisect
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from search.copies.index import CopyIndex
from search.fusion import Ranking, evidence_of
from search.modes import RanMode

_MORE_EVIDENCE = 0.5
"""How much more evidence than its original a copy needs to be shown instead. Copies of real skills differ by less."""

_MORE_WORDS = 1.1
"""The same for words alone: how many times the score."""


class Places(NamedTuple):
    """A ranking in which copies share a place, and the number of those that are ranked and have none."""

    ranking: Ranking
    left_out: int


class _Card(msgspec.Struct):
    installed: bool = False


def is_installed(card: bytes) -> bool:
    """Return whether a card is of a skill that is installed."""
    return msgspec.json.decode(card, type=_Card).installed


def with_one_place(
    ranking: Ranking, copies: CopyIndex, count: int, mode: RanMode, best: Callable[[Sequence[int]], int]
) -> Places:
    """Return the ranking with one place for each skill and its copies: that of the first of them.

    Up to the place `count`, `best` chooses by their keys who is shown there, among those that match about as well as
    the first. What is named exactly stays before what is not.
    """
    keys = ranking.all_keys()
    families = [ranks for ranks in copies.ranks(keys) if len(ranks) > 1]
    if not families:
        return Places(ranking, 0)
    left_out = sorted(rank for ranks in families for rank in ranks[1:])
    has_place = np.ones(len(keys), np.bool_)
    has_place[left_out] = False
    places = np.flatnonzero(has_place)
    chosen_ranks = places.copy()
    for ranks in families:
        number = ranks[0] - bisect(left_out, ranks[0])
        if number < count:
            alike = _about_as_good(ranking, ranks, mode)
            chosen = best(keys[alike].tolist())
            chosen_ranks[number] = next(rank for rank in alike if keys[rank] == chosen)
    return Places(ranking.shown_at(places, chosen_ranks), len(left_out))


def _about_as_good(ranking: Ranking, ranks: Sequence[int], mode: RanMode) -> list[int]:
    first, *others = (each.score for each in ranking.at(ranks))
    if mode == "keyword":
        good = [first < 1.0 and score * _MORE_WORDS >= first for score in others]
    else:
        most = evidence_of(first) - _MORE_EVIDENCE
        good = [first < 1.0 and evidence_of(score) >= most for score in others]
    named = [score == 1.0 for score in others]
    return [ranks[0], *(rank for rank, *fits in zip(ranks[1:], good, named, strict=True) if any(fits))]
