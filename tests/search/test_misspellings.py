"""Misspelled queries: the skill that is meant is found, and never passes for one that is named exactly."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search.engine import Engine
from search.requests import Hit, Results, SearchRequest
from support.catalogs import HashingEmbedder, SkillCatalog
from support.waiting import PATIENCE_SECONDS

SKILLS = [
    ("kubernetes-deploy", "Roll out containers to a cluster", "kubectl apply"),
    ("kubernetes-logs", "Read what containers print", "kubectl logs"),
    ("pdf-extract", "Extract tables from documents", "pages"),
    ("powerpoint", "Make presentations", "slides"),
    ("point-of-sale", "Take the power of a till", "money"),
]
MODES = ["auto", "hybrid", "semantic", "keyword"]


@pytest.fixture
def engine(catalog: SkillCatalog, tmp_path: Path) -> Iterator[Engine]:
    catalog.put_many(SKILLS)
    engine = Engine(catalog.documents, tmp_path / "indexes", HashingEmbedder())
    engine.start()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    yield engine
    engine.close()


def search(engine: Engine, query: str, **options: Any) -> Results:
    return engine.search.search(SearchRequest(query, **options))


def first(engine: Engine, query: str, **options: Any) -> Hit:
    return search(engine, query, **options).hits[0]


def test_the_skill_with_the_name_that_is_meant_comes_first(engine: Engine, catalog: SkillCatalog) -> None:
    catalog.put("logs", "Reads", "nothing else")
    catalog.put("all-logs", "Logs, logs and logs", "logs " * 50)
    engine.changed()
    for mode in MODES:
        hits = search(engine, "lgos", mode=mode).hits
        assert (hits[0].id, hits[0].score < 1) == ("logs", True)
        assert "name" in hits[0].matched_by


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["kuberntes-deploy", "Kubernetes Delpoy", "use the kuberntes-deploy skill"])
def test_a_misspelled_name_finds_its_skill(engine: Engine, query: str, mode: str) -> None:
    hit = first(engine, query, mode=mode)
    assert hit.id == "kubernetes-deploy"
    assert hit.score < 1


def test_a_look_alike_is_not_the_exact_name(engine: Engine, catalog: SkillCatalog) -> None:
    catalog.put_many(
        [("kuberntes-deploy", "Roll out containers to a cluster of kubernetes", "kubernetes deploy " * 50)]
    )
    engine.changed()
    assert first(engine, "kubernetes-deploy").id == "kubernetes-deploy"
    assert search(engine, "kubernetes-deploy").hits[1].score < 1
    # Now the other spelling is a name too, so nothing is corrected.
    typed = search(engine, "kuberntes-deploy")
    assert (typed.hits[0].id, typed.prompt.spelling.corrections) == ("kuberntes-deploy", ())


def test_the_explanation_names_the_words_that_were_searched(engine: Engine) -> None:
    why = first(engine, "pdf extarct", explain=True).explanation
    assert why is not None
    assert {match.word for match in why.words} == {"pdf", "extract"}
    assert sum(match.weight for match in why.words) == pytest.approx(why.parts["words"], abs=1e-3)
    divided = first(engine, "power point", explain=True)
    assert divided.explanation is not None
    assert "powerpoint" in {match.word for match in divided.explanation.words}


def test_a_search_that_does_not_wait_corrects_alike(engine: Engine) -> None:
    waited = search(engine, "kuberntes", mode="keyword")
    at_once = engine.search.search_nowait(SearchRequest("kuberntes", mode="keyword"))
    assert at_once == waited
