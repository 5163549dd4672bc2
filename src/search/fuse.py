"""Fusion: what the words index and the vector index say of each candidate becomes one ranking."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.types import MatchedBy, RanMode, Relevance

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

_COSINE_WEIGHT = 4.0
_NOISE = 0.25
_PAGE = 10
_ALWAYS_KEPT = 3


class Signals(NamedTuple):
    """What the indexes say of every candidate, as parallel arrays of shape (candidates,).

    `words` is the BM25 score, 0 where the words index did not find it; `cosine` NaN where there is no vector.
    `ceiling` is the BM25 score no document can exceed: 2.2 (k1 + 1) times the sum, over the terms of the query, of
    boost x ln(1 + (N - df + 0.5) / (df + 0.5)).
    """

    keys: NDArray[np.int64]
    words: Floats
    cosine: Floats
    exact: Flags
    prefix: Flags
    ceiling: float = 50.0


class Fused(NamedTuple):
    """One candidate in its place in the ranking."""

    key: int
    score: float
    relevance: Relevance
    matched_by: tuple[MatchedBy, ...]


def fuse(signals: Signals, mode: RanMode) -> Sequence[Fused]:
    """Return the candidates best first: exact names, then by evidence; prefixes are on the first page.

    Equal scores are in order of key.
    """
    evidence = _evidence(signals, mode)
    kept = (evidence > 0) | signals.exact | signals.prefix
    score = np.where(signals.exact, 1.0, 0.99 * evidence / (evidence + 3.0))
    order = np.lexsort((signals.keys, -score, ~signals.exact))
    order = _with_prefixes_first_page(order[kept[order]], signals)
    shown = np.maximum.accumulate(score[order][::-1])[::-1].round(6)
    return [
        Fused(int(signals.keys[i]), float(value), _relevance(signals, i, mode), _matched_by(signals, i, mode))
        for i, value in zip(order.tolist(), shown.tolist(), strict=True)
    ]


def _evidence(signals: Signals, mode: RanMode) -> NDArray[np.float64]:
    words = signals.words / np.sqrt(max(signals.ceiling, 1e-9))
    cosine = np.nan_to_num(signals.cosine, nan=0.0).clip(0, 1) * _COSINE_WEIGHT
    parts = {"hybrid": words + cosine, "keyword": words, "semantic": cosine}
    return np.asarray(parts[mode], np.float64)


def _with_prefixes_first_page(order: NDArray[np.int64], signals: Signals) -> NDArray[np.int64]:
    late = order[_PAGE:][signals.prefix[order[_PAGE:]]]
    if not len(late):
        return order
    named = signals.exact | signals.prefix
    page = order[:_PAGE]
    movable = [i for i in page[_ALWAYS_KEPT:].tolist() if not named[i]][::-1][: len(late)]
    moved = late[: len(movable)]
    first = np.concatenate([page[~np.isin(page, movable)], moved])
    return np.concatenate([first, order[~np.isin(order, first)]])


def _relevance(signals: Signals, i: int, mode: RanMode) -> Relevance:
    return "keyword" if mode == "keyword" else "medium"


def _matched_by(signals: Signals, i: int, mode: RanMode) -> tuple[MatchedBy, ...]:
    matched: list[MatchedBy] = []
    if signals.exact[i] or signals.prefix[i]:
        matched.append("name")
    if signals.words[i] > 0 and mode != "semantic":
        matched.append("keyword")
    if mode != "keyword" and signals.cosine[i] >= _NOISE:
        matched.append("semantic")
    return tuple(matched)
