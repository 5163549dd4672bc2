"""Fusion: what the words index and the vector index say of each candidate becomes one ranking.

The evidence for a candidate is words / sqrt(ceiling) + 0.4 x z. BM25 is a sum over the terms of the query, so what
it is worth by chance grows with the square root of that sum's possible height, the ceiling; z is the cosine in
standard deviations of the cosines between documents that have nothing to do with each other. Unlike min-max scaling
it compares scores of different queries, so a query whose words are hardly matched leaves the order to the vectors.
Weights trained for more signals (coverage, words of the name, term counts) did worse on sets they were not trained on.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.types import MatchedBy, RanMode, Relevance

Floats = NDArray[np.float32] | NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

PAGE = 10
"""How many hits the first page has: a name that begins with the query is among them."""

_Z_WEIGHT = 0.4
_NOISE = 1.0  # z up to which a likeness is no more than chance
_EVEN = 4.5  # evidence at which the first hit is right about as often as wrong
_STEEPNESS = 3
_BEST_OTHERS = 3  # hits that keep their place on the first page whatever prefixes there are
_RANDOM_PAIRS = 256  # documents compared with each other to measure the background
_ENOUGH = 32  # fewer documents say nothing of the background

_RELEVANCES: tuple[Relevance, ...] = ("low", "medium", "high")
_KINDS: tuple[MatchedBy, ...] = ("name", "keyword", "semantic")
_MATCHED_BY = [tuple(kind for bit, kind in enumerate(_KINDS) if mask >> bit & 1) for mask in range(8)]


class Background(NamedTuple):
    """The cosine of two unrelated documents in one space of vectors: its mean and standard deviation."""

    mean: float
    spread: float


MINILM = Background(mean=0.14, spread=0.10)
"""all-MiniLM-L6-v2, measured on 12,000 descriptions of skills and tools (0.115 to 0.153, 0.10 to 0.12)."""


class Signals(NamedTuple):
    """What the indexes say of every candidate, as parallel arrays of shape (candidates,).

    `words` is the BM25 score, 0 where the words index did not find it; `cosine` is NaN where there is no vector.
    `exact` and `prefix` say that a name of the candidate is the query, or begins with it. `ceiling` is the BM25
    score no document can exceed for the query, terms that are in no document included; 0 when it has no term.
    """

    keys: NDArray[np.int64]
    words: Floats
    cosine: Floats
    exact: Flags
    prefix: Flags
    ceiling: float
    background: Background = MINILM


class Fused(NamedTuple):
    """One candidate in its place in the ranking. `score` is in [0, 1] and comparable between queries."""

    key: int
    score: float
    relevance: Relevance
    matched_by: tuple[MatchedBy, ...]


def background(vectors: NDArray[np.float32]) -> Background:
    """Return the background of unit `vectors`, shape (documents, dimension): MINILM's when they are too few."""
    if len(vectors) < _ENOUGH:
        return MINILM
    rows = np.linspace(0, len(vectors) - 1, min(len(vectors), _RANDOM_PAIRS)).astype(np.intp)
    sample = vectors[rows]
    cosines = (sample @ sample.T)[np.triu_indices(len(sample), 1)]
    return Background(float(cosines.mean()), max(float(cosines.std()), 1e-3))


def fuse(signals: Signals, mode: RanMode) -> Sequence[Fused]:
    """Return the candidates best first, those without words, name or likeness left out.

    Exact names come first, whatever else is said of them. Up to seven names that begin with the query are moved up to
    the first page when they are not there. Otherwise evidence decides, and key where it is equal.
    """
    if not len(signals.keys):
        return []
    z = _z(signals)
    coverage = signals.words / signals.ceiling if signals.ceiling > 0 else np.zeros(len(z))
    evidence = _evidence(coverage, z, signals, mode)
    score = np.where(signals.exact, 1.0, _score(coverage, evidence, mode)).round(6)
    order = _order(score, _found(signals, z, mode), signals)
    score[order] = np.maximum.accumulate(score[order][::-1])[::-1]
    columns = (signals.keys, score, _relevance(evidence, z, signals.exact), _matched_by(signals, z, mode))
    return [
        Fused(key, value, "keyword" if mode == "keyword" else _RELEVANCES[band], _MATCHED_BY[mask])
        for key, value, band, mask in zip(*(column[order].tolist() for column in columns), strict=True)
    ]


def _z(signals: Signals) -> NDArray[np.float64]:
    """Return how far each cosine is above the background; a document with no vector yet gets the mean of the rest."""
    z = (np.asarray(signals.cosine, np.float64) - signals.background.mean) / signals.background.spread
    missing = np.isnan(z)
    if missing.any():
        z[missing] = 0.0 if missing.all() else z[~missing].mean()
    return z


def _evidence(coverage: Floats, z: Floats, signals: Signals, mode: RanMode) -> NDArray[np.float64]:
    if mode == "semantic":
        return np.asarray(z, np.float64)
    words = np.asarray(coverage, np.float64) * np.sqrt(signals.ceiling)
    return words if mode == "keyword" else words + _Z_WEIGHT * z


def _score(coverage: Floats, evidence: NDArray[np.float64], mode: RanMode) -> NDArray[np.float64]:
    """Return about how often a first hit with this evidence is right (a Hill curve); by words alone the coverage."""
    if mode == "keyword":
        return np.asarray(coverage, np.float64).clip(0, 1)
    powered = evidence.clip(0) ** _STEEPNESS
    return powered / (powered + _EVEN**_STEEPNESS)


def _found(signals: Signals, z: Floats, mode: RanMode) -> Flags:
    named = signals.exact | signals.prefix
    if mode == "keyword":
        return named | (signals.words > 0)
    return named | (signals.words > 0) | (~np.isnan(signals.cosine) & (z > 0))
