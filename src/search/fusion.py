"""Fusion: what the words index and the vector index say of each candidate becomes one ranking.

The evidence for a candidate is words / sqrt(ceiling) + 0.4 x z. BM25 is a sum over the terms of the query, so what
it is worth by chance grows with the square root of that sum's possible height, the ceiling; z is the cosine in
standard deviations of the cosines between documents that have nothing to do with each other. Unlike min-max scaling
it compares scores of different queries, so a query whose words are hardly matched leaves the order to the vectors.
Weights trained for more signals (coverage, words of the name, term counts) did worse on sets they were not trained on.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from search.types import MatchedBy, RanMode, Relevance

Floats = NDArray[np.float32] | NDArray[np.float64]
Scores = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

RANDOM_PAIRS = 256
"""How many documents are compared with each other to measure the background."""

PAGE = 10
"""How many hits the first page has: a name that begins with the query is among them."""

_Z_WEIGHT = 0.4
_NOISE = 2.0  # z up to which the best of thousands of unrelated documents may come
_EVEN = 4.5  # evidence at which the first hit is right about as often as wrong
_STEEPNESS = 3
_STEPS = 1_000_000  # scores are whole steps from 0 to 1, so that they have six digits when they are written
_STEP = 1 / _STEPS
_BEST_OTHERS = 3  # hits that keep their place on the first page whatever prefixes there are
_ENOUGH = 32  # fewer documents say nothing of the background

_CALIBRATED_ON = 4000  # documents in the catalogs on which scores and bands were set

_RELEVANCES: tuple[Relevance, ...] = ("low", "medium", "high", "keyword")
_BY_WORDS = 3
_KINDS: tuple[MatchedBy, ...] = ("name", "keyword", "semantic")
_MATCHED_BY = [tuple(kind for bit, kind in enumerate(_KINDS) if mask >> bit & 1) for mask in range(8)]


class NullDistribution(NamedTuple):
    """The cosine of two unrelated documents in one space of vectors: its mean and standard deviation."""

    mean: float
    spread: float


MINILM = NullDistribution(mean=0.14, spread=0.10)
"""all-MiniLM-L6-v2, measured on 12,000 descriptions of skills and tools (0.115 to 0.153, 0.10 to 0.12)."""


class Signals(NamedTuple):
    """What the indexes say of every candidate, as parallel arrays of shape (candidates,).

    `words` is the BM25 score, 0 where the words index did not find it; `cosine` is NaN where there is no vector.
    `exact` and `prefix` say that a name of the candidate is the query, or begins with it. `ceiling` is the BM25
    score no document can exceed for the query, terms that are in no document included; 0 when it has no term.
    `documents` is how many there are to find.
    """

    keys: NDArray[np.int64]
    words: Floats
    cosine: Floats
    exact: Flags
    prefix: Flags
    ceiling: float
    background: NullDistribution = MINILM
    documents: int = _CALIBRATED_ON


class Fused(NamedTuple):
    """One candidate in its place in the ranking. `score` is in [0, 1] and comparable between queries."""

    key: int
    score: float
    relevance: Relevance
    matched_by: tuple[MatchedBy, ...]


def background(vectors: NDArray[np.float32]) -> NullDistribution:
    """Return the background of unit `vectors`, shape (documents, dimension): MINILM's when they are too few."""
    if len(vectors) < _ENOUGH:
        return MINILM
    rows = np.linspace(0, len(vectors) - 1, min(len(vectors), RANDOM_PAIRS)).astype(np.intp)
    sample = vectors[rows]
    cosines = (sample @ sample.T)[np.triu_indices(len(sample), 1)]
    return NullDistribution(float(cosines.mean()), max(float(cosines.std()), 1e-3))


class Ranking(Sequence[Fused]):
    """Candidates best first. Only those that are looked at are made into `Fused`: a page is a few of hundreds."""

    def __init__(self, keys: NDArray[np.int64], scores: Scores, bands: Places, matched_by: Places) -> None:
        self._keys, self._scores, self._bands, self._matched_by = keys, scores, bands, matched_by

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, place: int) -> Fused: ...
    @overload
    def __getitem__(self, place: slice) -> list[Fused]: ...
    def __getitem__(self, place: int | slice) -> Fused | list[Fused]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        return Fused(
            int(self._keys[place]),
            float(self._scores[place]),
            _RELEVANCES[self._bands[place]],
            _MATCHED_BY[self._matched_by[place]],
        )

    def score(self, place: int) -> float:
        """Return the score at a place."""
        return float(self._scores[place])

    def at_least(self, score: float) -> int:
        """Return how many have this score or a better one."""
        return int(np.searchsorted(-self._scores, -score, side="right"))


def fuse(signals: Signals, mode: RanMode) -> Ranking:
    """Return the candidates best first, those without words, name or likeness left out.

    Exact names come first, whatever else is said of them. Names that begin with the query are on the first page, beside
    the three best others. Otherwise evidence decides, and key where scores are equal.
    """
    z = _z(signals)
    coverage: Scores = np.minimum(signals.words.astype(np.float64) / max(signals.ceiling, 1e-9), 1.0)
    evidence = _evidence(coverage, z, signals, mode)
    certainty = evidence * _small_catalog(signals.documents)
    found = _found(signals, z, mode)
    score = _with_names_up(_score(coverage, certainty, mode), found, signals)
    order = np.lexsort((signals.keys, -score))
    order = order[found[order]]
    bands = np.full(len(z), _BY_WORDS) if mode == "keyword" else _relevance(certainty, z, signals.exact)
    return Ranking(signals.keys[order], score[order], bands[order], _matched_by(signals, z, mode)[order])


def _z(signals: Signals) -> Scores:
    """Return how far each cosine is above the background; a document with no vector yet gets the mean of the rest."""
    z = (np.asarray(signals.cosine, np.float64) - signals.background.mean) / signals.background.spread
    missing = np.isnan(z)
    if missing.any():
        z[missing] = 0.0 if missing.all() else z[~missing].mean()
    return z


def _evidence(coverage: Scores, z: Scores, signals: Signals, mode: RanMode) -> Scores:
    if mode == "semantic":
        return z
    words: Scores = coverage * np.sqrt(signals.ceiling)
    return words if mode == "keyword" else words + _Z_WEIGHT * z


def _small_catalog(documents: int) -> float:
    """Return what evidence is multiplied with before it is judged: words are rarer, so say more, among more documents.

    A word in one of N documents has an idf of about ln N, and evidence grows with the square root of that.
    """
    return max(1.0, math.sqrt(math.log(_CALIBRATED_ON) / math.log(max(documents, 2))))


def _score(coverage: Scores, evidence: Scores, mode: RanMode) -> Scores:
    """Return about how often a first hit with this evidence is right (a Hill curve); by words alone the coverage."""
    if mode == "keyword":
        return coverage
    powered: Scores = np.maximum(evidence, 0.0) ** _STEEPNESS
    return powered / (powered + _EVEN**_STEEPNESS)


def _found(signals: Signals, z: Scores, mode: RanMode) -> Flags:
    found = signals.exact | signals.prefix
    if mode != "semantic":
        found = found | (signals.words > 0)
    if mode != "keyword":
        found = found | (~np.isnan(signals.cosine) & (z > 0))
    return found


def _with_names_up(score: Scores, found: Flags, signals: Signals) -> Scores:
    """Return scores in whole steps of _STEP: 1 for exact names only, and prefixes lifted onto the first page.

    A prefix is lifted just above the best of the others that must leave the page to make room.
    """
    stepped = np.minimum(np.rint(score * _STEPS) / _STEPS, 1 - 2 * _STEP)
    named = signals.exact | signals.prefix
    if not named.any():
        return stepped
    others = np.sort(stepped[found & ~named])[::-1]
    room = max(_BEST_OTHERS, PAGE - int(named.sum()))
    if len(others) > room:
        stepped = np.where(signals.prefix, np.maximum(stepped, others[room] + _STEP), stepped)
    return np.where(signals.exact, 1.0, stepped).round(6)


def _relevance(evidence: Scores, z: Scores, exact: Flags) -> NDArray[np.intp]:
    """Return the place in `_RELEVANCES` of each candidate.

    High asks for likeness and words together (right first hits: about 6 of 10 on real skills, where equivalents count
    as wrong); low is what nonsense and small talk get, though a rare word of theirs stands in some text.
    """
    high = (evidence >= 4.5) & (z >= 3.0)
    low = (evidence < 1.75) | ((evidence < 3.5) & (z < 2.0))
    return np.where(exact | high, 2, np.where(low, 0, 1))


def _matched_by(signals: Signals, z: Scores, mode: RanMode) -> NDArray[np.intp]:
    """Return the place in `_MATCHED_BY` of each candidate: a bit for every kind of match."""
    named = signals.exact | signals.prefix
    alike = ~np.isnan(signals.cosine) & (z >= _NOISE) & (mode != "keyword")
    masks: NDArray[np.intp] = named + 2 * (signals.words > 0) * (mode != "semantic") + 4 * alike
    return masks
