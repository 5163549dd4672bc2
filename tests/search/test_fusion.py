"""Fusion: ranking, scores, relevance bands, and invariants for any signals."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.fusion import MINILM, Fused, Gains, NullDistribution, Signals, evidence_parts, fuse, null_distribution
from search.modes import RanMode

MODES: list[RanMode] = ["hybrid", "semantic", "keyword"]
NAN = float("nan")

SIGNAL = st.tuples(
    st.floats(0, 40, width=32),
    st.one_of(st.just(NAN), st.floats(-1, 1, width=32)),
    st.booleans(),
    st.booleans(),
)


def signals(
    rows: list[tuple[float, float, bool, bool]], ceiling: float = 40.0, null: NullDistribution = MINILM
) -> Signals:
    """Return signals of rows (bm25, cosine, exact, prefix) with keys 1, 2, …"""
    bm25, cosine, exact, prefix = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Signals(
        keys=np.arange(1, len(rows) + 1, dtype=np.int64),
        bm25=np.array(bm25, np.float32),
        cosine=np.array(cosine, np.float32),
        exact=np.array(exact, bool),
        prefix=np.array(prefix, bool),
        ceiling=ceiling,
        null=null,
    )


def of_scores(*rows: tuple[float, float], ceiling: float = 40.0) -> Signals:
    return signals([(bm25, cosine, False, False) for bm25, cosine in rows], ceiling)


def keys(ranking: Sequence[Fused]) -> list[int]:
    return [hit.key for hit in ranking]


@pytest.mark.parametrize("mode", MODES)
def test_no_candidates_give_no_hits(mode: RanMode) -> None:
    assert list(fuse(signals([]), mode)) == []


@pytest.mark.parametrize(("mode", "order"), [("hybrid", [2, 1, 3]), ("keyword", [1, 2]), ("semantic", [3, 2])])
def test_each_mode_uses_its_own_evidence(mode: RanMode, order: list[int]) -> None:
    rows = of_scores((20, 0.05), (18, 0.5), (0, 0.6))
    assert keys(fuse(rows, mode)) == order


def test_vectors_decide_if_words_match_poorly() -> None:
    rows = ((3, 0.3), (1, 0.7))
    assert keys(fuse(of_scores(*rows, ceiling=4), "hybrid")) == [2, 1]
    assert keys(fuse(of_scores((30, 0.3), (10, 0.7), ceiling=40), "hybrid")) == [1, 2]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_lowered_comes_after_what_fits_as_well_and_stays(mode: RanMode) -> None:
    rows = of_scores((20, 0.6), (19, 0.58), (1, 0.2))
    lowered = fuse(rows._replace(lowered=np.array([True, False, False])), mode)
    assert keys(lowered)[:2] == [2, 1]
    alone = fuse(of_scores((20, 0.6)), mode)[0]
    assert fuse(of_scores((20, 0.6))._replace(lowered=np.array([True])), mode)[0].relevance == alone.relevance


@pytest.mark.parametrize("mode", MODES)
def test_a_lowered_name_is_first_unless_another_has_it_too(mode: RanMode) -> None:
    exact, other = (5.0, 0.3, True, False), (40.0, 0.9, False, False)
    alone = fuse(signals([exact, other])._replace(lowered=np.array([True, False])), mode)
    assert [(hit.key, hit.score == 1.0) for hit in alone] == [(1, True), (2, False)]
    both = fuse(signals([exact, exact, other])._replace(lowered=np.array([True, False, False])), mode)
    assert keys(both) == [2, 1, 3]


@pytest.mark.parametrize("mode", MODES)
def test_an_exact_name_is_first_whatever_the_rest_says(mode: RanMode) -> None:
    stuffed = (40.0, 1.0, False, True)
    ranking = fuse(signals([stuffed, stuffed, (0.0, NAN, True, False)]), mode)
    assert (ranking[0].key, ranking[0].score) == (3, 1.0)
    assert "name" in ranking[0].matched_by
    assert all(hit.score < 1 for hit in ranking[1:])


def test_a_prefix_is_on_the_first_page_and_the_best_stay_there() -> None:
    better = [(30.0 - place, 0.6, False, False) for place in range(15)]
    ranking = fuse(signals([*better, *[(1.0, 0.2, False, True)] * 2]), "hybrid")
    assert keys(ranking)[:10] == [1, 2, 3, 4, 5, 6, 7, 8, 16, 17]
    assert sorted(keys(ranking)) == list(range(1, 18))


def test_many_prefixes_leave_the_three_best_others_on_the_first_page() -> None:
    better = [(30.0 - place, 0.6, False, False) for place in range(5)]
    ranking = fuse(signals([*better, *[(1.0, 0.2, False, True)] * 20]), "hybrid")
    assert keys(ranking)[:10] == [1, 2, 3, 6, 7, 8, 9, 10, 11, 12]


def test_candidates_without_evidence_are_left_out() -> None:
    rows = of_scores((0, 0.05), (0, NAN), (0, 0.4))
    assert keys(fuse(rows, "hybrid")) == [3]


def test_a_document_with_no_vector_yet_is_ranked_among_those_with_one() -> None:
    rows = of_scores((5, 0.4), (20, NAN), (5, 0.4))
    ranking = fuse(rows, "hybrid")
    assert ranking[0].key == 2
    assert ranking[0].matched_by == ("keyword",)
    assert keys(fuse(rows, "semantic")) == [1, 3]


def test_examples_move_coverage_and_z_in_the_modes_that_use_them() -> None:
    rows = of_scores((12.0, 0.5), (10.0, 0.5), (9.0, 0.5))
    assert keys(fuse(rows, "hybrid")) == keys(fuse(rows, "keyword")) == [1, 2, 3]
    words = rows._replace(examples=Gains(np.array([0.0, 0.2, -0.2]), np.zeros(3)))
    assert keys(fuse(words, "hybrid")) == keys(fuse(words, "keyword")) == [2, 1, 3]
    assert keys(fuse(words, "semantic")) == [1, 2, 3]
    vectors = rows._replace(examples=Gains(np.zeros(3), np.array([-2.0, 0.0, 0.0])))
    assert keys(fuse(vectors, "hybrid")) == keys(fuse(vectors, "semantic")) == [2, 3, 1]
    assert keys(fuse(vectors, "keyword")) == [1, 2, 3]
    parts = evidence_parts(words, "hybrid")
    assert parts.examples[0] == 0
    assert parts.examples[1] > 0 > parts.examples[2]


@pytest.mark.parametrize(
    ("rows", "relevance"),
    [
        ([(25, 0.65), (10, 0.2)], "high"),
        ([(25, 0.65)], "high"),
        ([(25, 0.65), (24, 0.65)], "medium"),
        ([(15, 0.45), (12, 0.3)], "medium"),
        ([(15, 0.10), (9, 0.0)], "low"),
        ([(0, 0.30), (0, 0.1)], "low"),
    ],
)
def test_high_relevance_needs_evidence_and_a_lead(rows: list[tuple[float, float]], relevance: str) -> None:
    hit = fuse(of_scores(*rows), "hybrid")[0]
    assert hit.relevance == relevance
    assert fuse(of_scores((15, 0.45)), "keyword")[0].relevance == "keyword"


@pytest.mark.parametrize(
    ("bm25", "cosine", "matched_by"),
    [(9, 0.5, ("keyword", "semantic")), (9, 0.2, ("keyword",)), (0, 0.5, ("semantic",)), (9, NAN, ("keyword",))],
)
def test_a_hit_names_its_kinds_of_match(bm25: float, cosine: float, matched_by: tuple[str, ...]) -> None:
    assert fuse(of_scores((bm25, cosine)), "hybrid")[0].matched_by == matched_by


def test_scores_of_different_queries_can_be_compared() -> None:
    relevant = fuse(of_scores((25, 0.7)), "hybrid")[0].score
    nonsense = fuse(of_scores((2, 0.25)), "hybrid")[0].score
    assert relevant > 0.7
    assert nonsense < 0.1


def test_scores_do_not_depend_on_the_spread_of_the_space() -> None:
    rows = [(12.0, 0.1, False, False), (9.0, 0.6, False, False), (3.0, 0.4, False, False)]
    narrow = [(bm25, 0.7 + cosine / 5, exact, prefix) for bm25, cosine, exact, prefix in rows]
    wide, squeezed = signals(rows), signals(narrow, null=NullDistribution(0.7 + MINILM.mean / 5, MINILM.spread / 5))
    scores = [[hit.score for hit in fuse(variant, "hybrid")] for variant in (wide, squeezed)]
    assert keys(fuse(wide, "hybrid")) == keys(fuse(squeezed, "hybrid"))
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_the_null_distribution_is_measured_or_assumed() -> None:
    vectors = np.random.default_rng(7).normal(size=(500, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    measured = null_distribution(vectors)
    assert measured == pytest.approx((0.0, 1 / 8), abs=0.02)
    assert null_distribution(vectors[:10]) == MINILM
    assert null_distribution(np.repeat(vectors[:1], 100, axis=0)).spread > 0


@given(st.lists(SIGNAL, max_size=40), st.floats(0, 80), st.sampled_from(MODES))
def test_invariants_for_any_signals(rows: list[tuple[float, float, bool, bool]], ceiling: float, mode: RanMode) -> None:
    given_signals = signals(rows, ceiling)
    ranking = fuse(given_signals, mode)
    order = [(hit.score, -hit.key) for hit in ranking]
    assert order == sorted(order, reverse=True)
    assert all(0 <= hit.score <= 1 for hit in ranking)
    assert {hit.key for hit in ranking if hit.score == 1} == set(given_signals.keys[given_signals.exact].tolist())
    assert len(set(keys(ranking))) == len(ranking) >= int(given_signals.prefix.sum())


@given(st.lists(SIGNAL, min_size=1, max_size=20))
def test_scores_have_at_most_six_digits(rows: list[tuple[float, float, bool, bool]]) -> None:
    for mode in MODES:
        assert all(hit.score == float(f"{hit.score:.6f}") for hit in fuse(signals(rows), mode))
