"""Fusion: one ranking from the keyword score and the cosine of each candidate.

The evidence for a candidate is bm25 / sqrt(ceiling) + 0.5 x z. BM25 is a sum over the terms of the query, so its value
by chance grows with the square root of its upper bound, the ceiling. z is the cosine in standard deviations above the
mean cosine of unrelated documents. Unlike min-max scaling, this compares scores of different queries: a query whose
words match poorly is decided by the vectors. Weights trained for more signals (coverage, words of the name, term
counts) did worse on data sets that they were not trained on.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from search.modes import MatchedBy, RanMode, Relevance
from search.types import Flags, among

Floats = NDArray[np.float32] | NDArray[np.float64]
Scores = NDArray[np.float64]
Indices = NDArray[np.intp]

RANDOM_PAIRS = 256
"""The number of documents that are compared with each other to measure the null distribution."""

PAGE = 10
"""The number of hits on the first page, which includes names that begin with the query."""

_Z_WEIGHT = 0.5
_NOISE_Z = 2.0  # the highest z that the best of thousands of unrelated documents reaches by chance
_OF_EVIDENCE, _OF_LEAD, _HIGH = 0.12, 1.4, 3.5  # a probability of 0.85: benchmarks/relevance.py
_NEAR_Z = 4.0  # vectors must agree with the words that a hit fits
_UNWANTED = 0.3  # what is left of the evidence for a document that the query excludes
_LOWERED = 0.6  # what counts for the place of a document that is lower than others; its relevance is its own
_EVEN_EVIDENCE = 5.0  # the evidence at which the first hit is right about as often as wrong
_STEEPNESS = 3
_STEPS = 1_000_000  # scores are multiples of 1 / _STEPS, so that they have at most six digits
_STEP = 1 / _STEPS
_MIN_OTHERS = 3  # hits that stay on the first page however many names begin with the query
_MIN_SAMPLE = 32  # fewer documents are too few to measure the null distribution

_CALIBRATED_ON = 4000  # documents in the catalogs on which scores and relevance bands were calibrated

_RELEVANCES: tuple[Relevance, ...] = ("low", "medium", "high", "keyword")
_KEYWORD_BAND = 3
_KINDS: tuple[MatchedBy, ...] = ("name", "keyword", "semantic")
_MATCHED_BY = [tuple(kind for bit, kind in enumerate(_KINDS) if mask >> bit & 1) for mask in range(8)]


class NullDistribution(NamedTuple):
    """The distribution of the cosine of two unrelated documents of one space: its mean and standard deviation."""

    mean: float
    spread: float


MINILM = NullDistribution(mean=0.06, spread=0.11)
"""The default model, measured on 12,000 descriptions of skills and tools (0.036 to 0.092, 0.10 to 0.12)."""


class Gains(NamedTuple):
    """What examples add to the signals of each candidate, shape (candidates,); may be negative.

    `coverage` is added to the share of the ceiling that BM25 reaches, `z` to the z-score of the cosine.
    """

    coverage: Scores
    z: Scores


class Signals(NamedTuple):
    """The signals of all candidates, as parallel arrays of shape (candidates,).

    `bm25` is the keyword score, 0 without a match. `cosine` is NaN without a vector. `exact` and `prefix` are true if
    a name of the candidate equals the query or begins with it. `ceiling` is the upper bound of BM25 scores for the
    query, which counts terms that no document contains; 0 if the query has no terms. `documents` is the number of
    documents in the index. `examples` is None if no document has examples. `with_words` is the number of all documents
    that contain a word of the query, candidates or not; None where it was not counted. `meant` is true if a name equals
    the query with its corrected words; None if none does. `unwanted` is true for what the query excludes, `lowered`
    for what comes after others that fit as well.
    """

    keys: NDArray[np.int64]
    bm25: Floats
    cosine: Floats
    exact: Flags
    prefix: Flags
    ceiling: float
    null: NullDistribution = MINILM
    documents: int = _CALIBRATED_ON
    examples: Gains | None = None
    with_words: int | None = None
    meant: Flags | None = None
    unwanted: Flags | None = None
    lowered: Flags | None = None

    @property
    def has_words(self) -> Flags:
        """Whether the query's words are in the text of each candidate, or in its examples more than by chance."""
        return self.bm25 > 0 if self.examples is None else (self.bm25 > 0) | (self.examples.coverage > 0)


class Fused(NamedTuple):
    """A ranked candidate. `score` is in [0, 1] and comparable between queries."""

    key: int
    score: float
    relevance: Relevance
    matched_by: tuple[MatchedBy, ...]


class Ties(NamedTuple):
    """Candidates that follow each other in a ranking: the first rank, and the key and the negated score of each."""

    first: int
    keys: list[int]
    negated_scores: list[float]


def null_distribution(vectors: NDArray[np.float32]) -> NullDistribution:
    """Measure the null distribution of unit `vectors`, shape (documents, dimension). Too few give that of MiniLM."""
    if len(vectors) < _MIN_SAMPLE:
        return MINILM
    rows = np.linspace(0, len(vectors) - 1, min(len(vectors), RANDOM_PAIRS)).astype(np.intp)
    sample = vectors[rows]
    cosines = (sample @ sample.T)[np.triu_indices(len(sample), 1)]
    return NullDistribution(float(cosines.mean()), max(float(cosines.std()), 1e-3))


class Ranking(Sequence[Fused]):
    """Ranked candidates, best first. `Fused` objects are made on access: a page is a few of hundreds."""

    def __init__(self, keys: NDArray[np.int64], scores: Scores, bands: Indices, matched_by: Indices) -> None:
        self._keys, self._scores, self._bands, self._matched_by = keys, scores, bands, matched_by

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, rank: int) -> Fused: ...
    @overload
    def __getitem__(self, rank: slice) -> list[Fused]: ...
    def __getitem__(self, rank: int | slice) -> Fused | list[Fused]:
        return self.at(rank) if isinstance(rank, slice) else self.at(slice(rank, rank + 1 or None))[0]

    def at(self, ranks: slice | Sequence[int]) -> list[Fused]:
        """Return the candidates at these ranks."""
        columns = (column[ranks].tolist() for column in (self._keys, self._scores, self._bands, self._matched_by))
        return [
            Fused(key, score, _RELEVANCES[band], _MATCHED_BY[matched_by])
            for key, score, band, matched_by in zip(*columns, strict=True)
        ]

    def keys(self, count: int) -> list[int]:
        """Return the keys of the first candidates."""
        keys: list[int] = self._keys[:count].tolist()
        return keys

    def all_keys(self) -> NDArray[np.int64]:
        """Return the keys of all candidates."""
        return self._keys

    def shown_at(self, places: Indices, ranks: Indices) -> "Ranking":
        """Return the ranking of the candidates at these ranks, with scores and relevances of those at `places`."""
        return Ranking(self._keys[ranks], self._scores[places], self._bands[places], self._matched_by[ranks])

    @property
    def is_weak(self) -> Flags:
        """Whether each candidate is of low relevance, shape (candidates,)."""
        flags: Flags = self._bands == _RELEVANCES.index("low")
        return flags

    def raised(self, keys: Sequence[int]) -> "Ranking":
        """Return the ranking with those of these candidates that are of low relevance as *medium*."""
        bands = np.where(self.is_weak & among(self._keys, keys), _RELEVANCES.index("medium"), self._bands)
        return Ranking(self._keys, self._scores, bands, self._matched_by)

    def with_ties(self, start: int, end: int) -> "Ties":
        """Return the candidates from rank `start` to `end`, excluded, and all others with one of their scores."""
        worse = -self._scores
        first = int(np.searchsorted(worse, worse[start], "left"))
        last = int(np.searchsorted(worse, worse[end - 1], "right"))
        return Ties(first, self._keys[first:last].tolist(), worse[first:last].tolist())

    def count_at_least(self, score: float) -> int:
        """Return the number of candidates with at least this score."""
        if score <= 0:
            return len(self)
        return int(np.searchsorted(-self._scores, -score, side="right"))

    @property
    def has_named(self) -> bool:
        """Whether the first candidate has an exact name."""
        return len(self) > 0 and self._scores[0] == 1.0

    def led_by(self, leaders: Sequence[Fused]) -> "Ranking":
        """Return the ranking with these candidates of it first, in this order.

        A leader has the better of its two scores and relevances, and at least as much as what follows it.
        """
        ranks = {key: rank for rank, key in enumerate(self._keys.tolist())}
        first = [ranks[leader.key] for leader in leaders]
        order = np.concatenate((first, np.setdiff1d(np.arange(len(self)), first))).astype(np.intp)
        scores, bands, count = self._scores[order], self._bands[order], len(first)
        scores[:count] = np.maximum(scores[:count], [leader.score for leader in leaders])
        bands[:count] = np.maximum(bands[:count], [_RELEVANCES.index(leader.relevance) for leader in leaders])
        for rank in range(min(count, len(order) - 1) - 1, -1, -1):
            scores[rank] = max(scores[rank], scores[rank + 1] + _STEP)
        return Ranking(self._keys[order], scores.round(6), bands, self._matched_by[order])


def evidence_of(score: float) -> float:
    """Return the evidence that has a score in a mode with vectors: the inverse of the Hill function."""
    return float(_EVEN_EVIDENCE * (score / max(1 - score, _STEP)) ** (1 / _STEEPNESS))


def fuse(signals: Signals, mode: RanMode) -> Ranking:
    """Rank the candidates that have a keyword match, a name match or a cosine above the mean.

    Exact names come first. Names that begin with the query are on the first page, together with at least the three
    best others. All others are ordered by evidence, then by key.
    """
    z = np.zeros(len(signals.keys)) if mode == "keyword" else _z_scores(signals)
    coverage = _coverage(signals)
    scaled_evidence = _evidence(coverage, z, signals, mode) * _catalog_size_factor(signals.documents)
    if signals.unwanted is not None:
        coverage, scaled_evidence = (
            np.where(signals.unwanted, _UNWANTED * each, each) for each in (coverage, scaled_evidence)
        )
    is_hit = _is_hit(signals, z, mode)
    score = _boost_names(_placed(coverage, scaled_evidence, signals, mode), is_hit, signals)
    order = np.lexsort((signals.keys, -score))
    order = order[is_hit[order]]
    if mode == "keyword":
        bands = np.full(len(order), _KEYWORD_BAND)
    else:
        bands = _bands(scaled_evidence[order], z[order], signals.exact[order])
    return Ranking(signals.keys[order], score[order], bands, _matched_by(signals, z, mode)[order])


class Parts(NamedTuple):
    """What each signal adds to the evidence of each candidate, shape (candidates,), at the scale of scores.

    `scale` is the factor for the size of the catalog, which all parts contain.
    """

    words: Scores
    examples: Scores
    vectors: Scores
    scale: float


def evidence_parts(signals: Signals, mode: RanMode) -> Parts:
    """Return the parts of the evidence by which `fuse` ranks."""
    own = signals._replace(examples=None)
    coverage, z, scale = _coverage(signals), _z_scores(signals), _catalog_size_factor(signals.documents)
    total = _evidence(coverage, z, signals, mode) * scale
    if mode == "semantic":
        return Parts(np.zeros(len(z)), np.zeros(len(z)), total, scale)
    words, both = (_evidence(part, z, signals, "keyword") * scale for part in (_coverage(own), coverage))
    return Parts(words, both - words, total - both, scale)


def _coverage(signals: Signals) -> Scores:
    """Return the share of the ceiling that each candidate reaches, with what its examples add; in [0, 1]."""
    coverage: Scores = signals.bm25.astype(np.float64) / max(signals.ceiling, 1e-9)
    if signals.examples is not None:
        coverage = np.maximum(coverage + signals.examples.coverage, 0.0)
    return np.minimum(coverage, 1.0)


def _z_scores(signals: Signals) -> Scores:
    """Return each cosine as a z-score of the null distribution; without a vector, the mean of the other candidates."""
    z = (np.asarray(signals.cosine, np.float64) - signals.null.mean) / signals.null.spread
    if signals.examples is not None:
        z = z + signals.examples.z
    missing = np.isnan(z)
    if missing.any():
        z[missing] = 0.0 if missing.all() else z[~missing].mean()
    return z


def _evidence(coverage: Scores, z: Scores, signals: Signals, mode: RanMode) -> Scores:
    if mode == "semantic":
        return z
    keyword: Scores = coverage * np.sqrt(signals.ceiling)
    return keyword if mode == "keyword" else keyword + _Z_WEIGHT * z


def _catalog_size_factor(documents: int) -> float:
    """Return the factor on evidence for small catalogs: in larger ones, words are rarer and weigh more.

    A word in one of N documents has an idf of about ln N, and evidence grows with its square root.
    """
    return max(1.0, math.sqrt(math.log(_CALIBRATED_ON) / math.log(max(documents, 2))))


def _score(coverage: Scores, evidence: Scores, mode: RanMode) -> Scores:
    """Return the approximate probability that a first hit with this evidence is right, by a Hill function.

    In mode `keyword`, return the coverage.
    """
    if mode == "keyword":
        return coverage
    powered: Scores = np.maximum(evidence, 0.0) ** _STEEPNESS
    return powered / (powered + _EVEN_EVIDENCE**_STEEPNESS)


def _placed(coverage: Scores, evidence: Scores, signals: Signals, mode: RanMode) -> Scores:
    """Return the scores that decide the places of the candidates."""
    if signals.lowered is not None:
        share = np.where(signals.lowered, _LOWERED, 1.0)
        coverage, evidence = coverage * share, evidence * share
    return _score(coverage, evidence, mode)


def _is_hit(signals: Signals, z: Scores, mode: RanMode) -> Flags:
    is_hit = signals.exact | signals.prefix
    if mode != "semantic":
        is_hit = is_hit | signals.has_words
    if mode != "keyword":
        is_hit = is_hit | (~np.isnan(signals.cosine) & (z > 0))
    return is_hit


def _boost_names(score: Scores, is_hit: Flags, signals: Signals) -> Scores:
    """Return scores as multiples of _STEP: 1 for exact names only, and prefix matches moved up to the first page.

    A prefix match is moved just above the best of the other hits that must leave the page, and what is meant above all
    but exact names.
    """
    stepped = np.minimum(np.rint(score * _STEPS) / _STEPS, 1 - 2 * _STEP)
    named = signals.exact | signals.prefix
    if not named.any():
        return stepped
    others = np.sort(stepped[is_hit & ~named])[::-1]
    remaining = max(_MIN_OTHERS, PAGE - int(named.sum()))
    if len(others) > remaining:
        stepped = np.where(signals.prefix, np.maximum(stepped, others[remaining] + _STEP), stepped)
    if signals.meant is not None:
        best = stepped[is_hit & ~signals.meant].max(initial=0.0)
        stepped = np.where(signals.meant, np.maximum(stepped, best + _STEP), stepped)
    return np.where(signals.exact, _exact_scores(signals), stepped).round(6)


def _exact_scores(signals: Signals) -> Scores | float:
    """Return the scores of exact names: 1, and a step less for a lowered one beside another that is not."""
    if signals.lowered is None or not (signals.exact & ~signals.lowered).any():
        return 1.0
    return np.where(signals.lowered, 1 - _STEP, 1.0)


def _bands(evidence: Scores, z: Scores, exact: Flags) -> Indices:
    """Return the index in `_RELEVANCES` of each candidate, in the order of the ranking.

    High needs evidence and a lead over the next hit, by a logistic function of both, and vectors that say the same: at
    least 85 % of such first hits are right on each data set, most of which count equivalents as wrong. Low is what
    nonsense and small talk get, even if a text contains a rare word.
    """
    lead = evidence - evidence[:1]
    lead[:1] = evidence[0] - evidence[1] if len(evidence) > 1 else evidence
    high = (_OF_EVIDENCE * evidence + _OF_LEAD * lead >= _HIGH) & (z >= _NEAR_Z)
    low = _is_low(evidence, z)
    return np.where(exact | (high & ~low), 2, np.where(low, 0, 1))


def _is_low(evidence: Scores, z: Scores) -> Flags:
    return (evidence < 2.5) | ((evidence < 3.5) & (z < 2.5))


def may_be_close(bm25: float, cosine: float, signals: Signals, mode: RanMode) -> bool:
    """Return whether a document with at most this keyword score and cosine may be of more than low relevance."""
    z = np.array([(cosine - signals.null.mean) / signals.null.spread])
    coverage = np.array([min(bm25 / max(signals.ceiling, 1e-9), 1.0)])
    evidence = _evidence(coverage, z, signals, mode) * _catalog_size_factor(signals.documents)
    return not bool(_is_low(evidence, z)[0])


def _matched_by(signals: Signals, z: Scores, mode: RanMode) -> Indices:
    """Return the index in `_MATCHED_BY` of each candidate: one bit per kind of match."""
    named = signals.exact | signals.prefix
    semantic = ~np.isnan(signals.cosine) & (z >= _NOISE_Z) & (mode != "keyword")
    masks: Indices = named + 2 * signals.has_words * (mode != "semantic") + 4 * semantic
    return masks
