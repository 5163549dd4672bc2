"""Explanations: what they name adds up to the score, in every mode and in both segments of the keyword index."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search.engine import Engine
from search.explanation import Explanation
from search.requests import Hit, SearchRequest
from support.catalogs import HashingEmbedder, SkillCatalog
from support.waiting import PATIENCE_SECONDS

SKILLS = [
    ("pdf-forms", "Fill in pdf forms and read their fields", "open the document"),
    ("sql-review", "Review sql queries for slow joins", "indexes matter, and a joined table too"),
    ("travel-plan", "Plan a journey with trains and hotels", "pdf tickets"),
    ("cjk", "合同审查助手", "检查合同条款"),
]
_EVEN_EVIDENCE = 5.0  # the evidence of score 0.5, as docs/search.md says


@pytest.fixture(params=["in memory", "on disk"])
def engine(request: pytest.FixtureRequest, catalog: SkillCatalog, tmp_path: Path) -> Iterator[Engine]:
    catalog.put_many(SKILLS)
    catalog.put("SheetMaker", "Make tables", tags=["Sheets"], capabilities=["write sheets"])
    engine = Engine(catalog.documents, tmp_path / "indexes", HashingEmbedder())
    engine.start()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    if request.param == "on disk":
        engine.index_sync.lexical.flush()
    yield engine
    engine.close()


def hits(engine: Engine, query: str, **options: Any) -> list[Hit]:
    return engine.search.search(SearchRequest(query, explain=True, **options)).hits


def explanation(engine: Engine, query: str, skill_id: str, **options: Any) -> Explanation:
    found = next(hit.explanation for hit in hits(engine, query, **options) if hit.id == skill_id)
    assert found is not None
    return found


def test_words_and_vectors_add_up_to_the_evidence_of_the_score(engine: Engine) -> None:
    for hit in hits(engine, "slow joins of tables in a pdf"):
        why = hit.explanation
        assert why is not None
        assert why.tier == "evidence"
        assert sum(why.parts.values()) == pytest.approx(why.evidence, abs=1e-3)
        assert sum(match.weight for match in why.words) == pytest.approx(why.parts["words"], abs=1e-3)
        powered = max(why.evidence, 0.0) ** 3
        assert hit.score == pytest.approx(powered / (powered + _EVEN_EVIDENCE**3), abs=1e-3)


def test_words_are_those_of_the_query_with_the_fields_that_have_them(engine: Engine) -> None:
    why = explanation(engine, "Joining the reviewed tables", "sql-review")
    assert {match.word: match.fields for match in why.words} == {
        "Joining": ["description", "body"],
        "reviewed": ["name", "id", "description"],
        "tables": ["body"],
    }
    assert [match.weight for match in why.words] == sorted((match.weight for match in why.words), reverse=True)


def test_parts_of_names_tags_and_capabilities_are_fields(engine: Engine) -> None:
    why = explanation(engine, "a sheet for me", "SheetMaker")
    assert [(match.word, match.fields) for match in why.words] == [("sheet", ["name", "id", "tags", "capabilities"])]


def test_text_without_spaces_is_matched_by_pairs_of_characters(engine: Engine) -> None:
    why = explanation(engine, "合同条款", "cjk")
    assert {match.word: match.fields for match in why.words} == {
        "合同": ["description", "body"],
        "同条": ["body"],
        "条款": ["body"],
    }


@pytest.mark.parametrize(("query", "tier"), [("Travel Plan", "exact_name"), ("trav", "name_prefix")])
def test_the_tier_names_what_a_name_did(engine: Engine, query: str, tier: str) -> None:
    assert explanation(engine, query, "travel-plan").tier == tier


def test_a_mode_has_only_its_own_part(engine: Engine) -> None:
    keyword = explanation(engine, "slow joins", "sql-review", mode="keyword")
    assert (list(keyword.parts), keyword.cosine) == (["words"], None)
    semantic = explanation(engine, "slow joins", "sql-review", mode="semantic")
    assert (list(semantic.parts), semantic.words) == (["vectors"], [])
    assert semantic.cosine is not None
    assert 0 < semantic.cosine <= 1


def test_a_query_of_stop_words_only_is_explained(engine: Engine) -> None:
    assert [match.word for match in explanation(engine, "with and", "travel-plan").words] == ["with", "and"]


def test_only_who_asks_gets_explanations_and_waits_for_them(engine: Engine) -> None:
    request = SearchRequest("slow joins")
    assert [hit.explanation for hit in engine.search.search(request).hits[:1]] == [None]
    assert engine.search.search_nowait(request._replace(explain=True)) is None
    ranks = [hit.id for hit in hits(engine, "slow joins")]
    assert ranks == [hit.id for hit in engine.search.search(request).hits]
