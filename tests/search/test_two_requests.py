"""Two requests in one prompt get places of their own on the first page; one request keeps its ranking."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from search.engine import Engine
from search.fusion import Ranking, evidence_of
from search.two_requests import Sides, with_both
from support.engines import engine_over, page

SCORES = np.linspace(0.6, 0.3, 12)


def ranking(keys: list[int], best: float) -> Ranking:
    count = len(keys)
    scores = (SCORES[:count] * best / SCORES[0]).round(6)
    return Ranking(np.array(keys), scores, np.full(count, 1, np.intp), np.full(count, 2, np.intp))


def keys(of: Ranking) -> list[int]:
    return of.keys(10)


def apart(cosine: float, *, is_marked: bool = False) -> Sides:
    return Sides(("resize photos", "send invoices"), np.zeros((2, 3), np.float32), cosine, is_marked)


WHOLE = ranking(list(range(1, 13)), 0.5)
ONE, OTHER = ranking([1, 2, 3], 0.75), ranking([11, 12], 0.75)


def test_both_sides_are_on_the_page_after_the_first_hit_of_the_whole() -> None:
    shared = with_both(WHOLE, [ONE, OTHER], apart(0.0))
    assert keys(shared)[0] == 1
    assert {1, 2, 11, 12} <= set(keys(shared)[:4])
    assert sorted(shared.keys(99)) == list(range(1, 13))


def test_scores_descend_and_each_hit_has_the_better_of_its_own() -> None:
    shared = with_both(WHOLE, [ONE, OTHER], apart(0.0))
    scores = [hit.score for hit in shared]
    assert all(before >= after for before, after in pairwise(scores))
    assert shared[keys(shared).index(11)].score >= OTHER[0].score


@pytest.mark.parametrize(
    ("sides", "cosine"),
    [
        ([ONE, OTHER], 0.9),
        ([ranking([1, 2, 3], 0.2), ranking([11, 12], 0.2)], 0.0),
        ([ONE, ranking([], 0.5)], 0.0),
    ],
)
def test_sides_that_are_alike_or_say_little_leave_the_ranking_as_it_is(sides: list[Ranking], cosine: float) -> None:
    assert keys(with_both(WHOLE, sides, apart(cosine))) == keys(WHOLE)


def test_sides_that_say_less_are_enough_where_the_prompt_says_that_there_are_two() -> None:
    sides = [ranking([1, 2, 3], 0.45), ranking([11, 12], 0.45)]
    assert keys(with_both(WHOLE, sides, apart(0.0))) == keys(WHOLE)
    assert {11, 12} <= set(keys(with_both(WHOLE, sides, apart(0.0, is_marked=True)))[:5])


def test_an_empty_ranking_stays_empty() -> None:
    assert len(with_both(ranking([], 0.5), [ONE, OTHER], apart(0.0))) == 0


def test_evidence_is_that_of_the_score() -> None:
    assert evidence_of(0.5) == pytest.approx(5.0)
    assert evidence_of(0.0) == 0


SKILLS = [
    ("photo-resizer", "Resize product photos for a shop", ""),
    ("invoice-mailer", "Send weekly invoices by mail", ""),
    *((f"photo-tool-{n}", f"Photos: crop product pictures, filter {n}, shop albums", "") for n in range(15)),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_over(SKILLS, tmp_path_factory.mktemp("two")) as filled:
        yield filled


@pytest.mark.parametrize(
    "query", ["resize product photos for a shop; send weekly invoices by mail", "resize product photos for a shop"]
)
def test_pages_are_slices_of_one_ranking(engine: Engine, query: str) -> None:
    whole = [hit.id for hit in page(engine, query, limit=16)]
    assert len(set(whole)) == len(whole)
    assert [hit.id for start in (0, 4, 8, 12) for hit in page(engine, query, limit=4, offset=start)] == whole


def test_both_requests_are_explained_and_on_the_page(engine: Engine) -> None:
    hits = page(engine, "resize product photos for a shop; send weekly invoices by mail", explain=True)
    assert {"photo-resizer", "invoice-mailer"} <= {hit.id for hit in hits}
    assert all(hit.explanation is not None for hit in hits)
