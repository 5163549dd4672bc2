"""A hit that leaves no doubt is never of low relevance, however little a short query says."""

from collections.abc import Iterator

import pytest

from search.engine import Engine
from support.engines import engine_over, page

SKILLS = [
    ("stanley-druckenmiller-investing", "Looks at markets the way a trader does", "Steps and numbers. " * 300),
    ("nullable-doctor", "Fixes compiler warnings one file at a time", f"CS8604 and CS8625. {'Some steps. ' * 300}"),
    *(
        (f"topic{n}-helper", f"Steps for subject{n}, ask and check", "Ask, do, check the result. " * 40)
        for n in range(200)
    ),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_over(SKILLS, tmp_path_factory.mktemp("relevance")) as filled:
        yield filled


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("druckenmiller", "stanley-druckenmiller-investing"),
        ("investing", "stanley-druckenmiller-investing"),
        ("CS8604", "nullable-doctor"),
        ("CS8604 CS8625", "nullable-doctor"),
    ],
)
def test_words_of_a_name_and_words_that_few_skills_have_are_shown(engine: Engine, query: str, name: str) -> None:
    best = page(engine, query)[0]
    assert best.id == name
    assert best.relevance != "low"


@pytest.mark.parametrize("query", ["check", "result of a thing that nobody does", "zzqx vvkp"])
def test_words_that_many_skills_have_stay_low(engine: Engine, query: str) -> None:
    assert all(hit.relevance == "low" for hit in page(engine, query))
