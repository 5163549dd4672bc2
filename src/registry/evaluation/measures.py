"""Measures of a ranking against the relevant documents of its query."""

import math
from collections.abc import Callable, Mapping, Sequence

DEPTH = 10
"""The number of ranks that are measured."""

Gains = Mapping[str, float]
"""The gain of each relevant document of a query, above 0."""

Measure = Callable[[Sequence[str], Gains], float]


def ndcg(ranking: Sequence[str], gains: Gains) -> float:
    """Return nDCG@10 with linear gains and log2 discounts (Järvelin and Kekäläinen, 2002)."""
    total = sum(gains.get(document, 0.0) / math.log2(rank + 2) for rank, document in enumerate(ranking[:DEPTH]))
    best = sorted(gains.values(), reverse=True)[:DEPTH]
    return total / sum(gain / math.log2(rank + 2) for rank, gain in enumerate(best))


def recall(depth: int) -> Measure:
    """Return a measure: the share of relevant documents that are among the first `depth`."""
    return lambda ranking, gains: len(set(ranking[:depth]) & gains.keys()) / len(gains)


def first_right(ranking: Sequence[str], gains: Gains) -> float:
    """Return 1 if the first document is relevant, else 0."""
    return float(bool(ranking) and ranking[0] in gains)


def reciprocal_rank(ranking: Sequence[str], gains: Gains) -> float:
    """Return 1 / the rank of the first relevant document within 10, else 0."""
    return next((1 / (rank + 1) for rank, document in enumerate(ranking[:DEPTH]) if document in gains), 0.0)


MEASURES: dict[str, Measure] = {
    "ndcg@10": ndcg,
    "hit@1": first_right,
    "recall@1": recall(1),
    "recall@5": recall(5),
    "recall@10": recall(10),
    "mrr@10": reciprocal_rank,
}
