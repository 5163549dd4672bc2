"""The engine over a real catalog: sync, embedding, filters, paging, outages and restarts."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from embeddings.base import Matrix
from registry.catalog.documents import CatalogDocuments
from search import service
from search.engine import Engine, text_space
from search.lexical.concurrent_query import LARGE
from search.requests import SearchRequest, SemanticUnavailable
from search.types import Filter
from support.catalogs import HashingEmbedder, SkillCatalog
from support.waiting import PATIENCE_SECONDS, wait_until

SKILLS = [
    ("pdf-forms", "Fill in pdf forms and read their fields", "open the document"),
    ("sql-review", "Review sql queries for slow joins", "indexes matter"),
    ("travel-plan", "Plan a journey with trains and hotels", "pdf tickets"),
]


@pytest.fixture
def filled_catalog(catalog: SkillCatalog) -> SkillCatalog:
    catalog.put_many(SKILLS)
    return catalog


def start_engine(catalog: SkillCatalog, folder: Path, embedder: HashingEmbedder | None, **options: Any) -> Engine:
    engine = Engine(catalog.documents, folder, embedder, **options)
    engine.start()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    return engine


@pytest.fixture(params=[LARGE, 1], ids=["small", "large"])
def engine(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, filled_catalog: SkillCatalog, tmp_path: Path
) -> Iterator[Engine]:
    monkeypatch.setattr(service, "LARGE", request.param)
    engine = start_engine(filled_catalog, tmp_path / "indexes", HashingEmbedder())
    yield engine
    engine.close()


def ids(engine: Engine, query: str, **options: Any) -> list[str]:
    return [hit.id for hit in engine.search.search(SearchRequest(query, **options)).hits]


def test_keyword_and_vector_scores_are_fused(engine: Engine) -> None:
    results = engine.search.search(SearchRequest("slow sql joins"))
    assert results.mode == "hybrid"
    assert results.hits[0].id == "sql-review"
    assert set(results.hits[0].matched_by) == {"keyword", "semantic"}


def test_only_a_small_catalog_is_searched_without_waiting(engine: Engine) -> None:
    request = SearchRequest("slow sql joins")
    results = engine.search.search(request)
    is_small = service.LARGE > 1  # type: ignore[attr-defined]  # as the fixture has set it
    assert engine.search.search_nowait(request) == (results if is_small else None)


def test_no_search_waits_for_a_model_once_the_engine_is_prepared(filled_catalog: SkillCatalog, tmp_path: Path) -> None:
    folder, request = tmp_path / "indexes", SearchRequest("slow sql joins")
    start_engine(filled_catalog, folder, HashingEmbedder()).close()
    engine = start_engine(filled_catalog, folder, HashingEmbedder())  # nothing is embedded, so no model is loaded
    assert engine.search.waits_for_others(request)
    engine.prepare(PATIENCE_SECONDS)
    wait_until(lambda: not engine.search.waits_for_others(request))
    engine.close()


def test_a_model_that_cannot_be_loaded_does_not_keep_the_engine_from_starting(
    filled_catalog: SkillCatalog, tmp_path: Path
) -> None:
    embedder = HashingEmbedder()
    embedder.down = True
    engine = start_engine(filled_catalog, tmp_path / "indexes", embedder)
    engine.prepare(0.1)
    assert ids(engine, "slow sql joins") == ["sql-review"]
    engine.close()


class GrowingDocuments(CatalogDocuments):
    """Documents to which a writer adds one after each count."""

    def __init__(self, catalog: SkillCatalog) -> None:
        super().__init__(catalog.database)
        self._catalog = catalog

    def count(self) -> int:
        return self._grown(super().count())

    def stale_count(self, space: str, keys: Sequence[int] | None = None) -> int:
        return self._grown(super().stale_count(space, keys))

    def _grown(self, number: int) -> int:
        self._catalog.put(f"one-of-{number}", "Counts")
        return number


def test_what_comes_while_the_status_is_read_is_not_said_to_be_indexed(catalog: SkillCatalog, tmp_path: Path) -> None:
    engine = Engine(GrowingDocuments(catalog), tmp_path / "indexes", HashingEmbedder())
    status = engine.status()
    engine.close()
    assert status.pending > 0
    assert status.indexed == 0


def test_a_write_is_found_by_the_next_search(engine: Engine, filled_catalog: SkillCatalog) -> None:
    filled_catalog.put("animal-care", "Look after zebras")
    assert ids(engine, "zebras", mode="keyword") == ["animal-care"]
    filled_catalog.put("animal-care", "Look after horses")
    assert ids(engine, "zebras", mode="keyword") == []
    filled_catalog.remove("animal-care")
    assert ids(engine, "horses", mode="keyword") == []


def test_a_new_skill_is_embedded_in_the_background(engine: Engine, filled_catalog: SkillCatalog) -> None:
    filled_catalog.put("zebra-care", "Look after zebras")
    engine.changed()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    assert ids(engine, "look after zebras", mode="semantic")[0] == "zebra-care"
    assert (engine.status().pending, engine.status().drift) == (0, 0)


def test_an_exact_name_is_first_whatever_the_vectors_say(engine: Engine, filled_catalog: SkillCatalog) -> None:
    filled_catalog.put("stuffed", "travel plan journey trains hotels travel plan " * 8, "travel plan " * 200)
    engine.changed()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    for query in ("travel-plan", "Travel Plan", "TRAVEL_PLAN", "travelplan"):
        assert ids(engine, query)[0] == "travel-plan"


def test_a_filter_applies_to_keyword_and_vector_search(engine: Engine, filled_catalog: SkillCatalog) -> None:
    filled_catalog.put("off", "Review sql queries for slow joins", enabled=False, tags=["db"])
    engine.changed()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    enabled = Filter((), ("enabled:false",))
    for mode in ("keyword", "semantic", "hybrid"):
        assert "off" not in ids(engine, "slow sql joins", mode=mode, allowed=enabled)
        assert ids(engine, "slow sql joins", mode=mode, allowed=Filter((("tag:db",),))) == ["off"]


def test_pages_are_slices_of_one_ranking(engine: Engine) -> None:
    whole = ids(engine, "pdf")
    pages = [ids(engine, "pdf", limit=1, offset=offset) for offset in range(len(whole) + 1)]
    assert [skill_id for page in pages for skill_id in page] == whole


def test_hits_with_equal_scores_are_ordered_by_id_across_pages(engine: Engine, filled_catalog: SkillCatalog) -> None:
    for name in ("twin-c", "twin-a", "twin-b"):
        filled_catalog.put(name, "whisper audio into text", name="Whisper")
    engine.changed()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    assert ids(engine, "audio into text", limit=3) == ["twin-a", "twin-b", "twin-c"]
    assert ids(engine, "audio into text", limit=1, offset=1) == ["twin-b"]


def test_keyword_search_works_without_an_embedder(filled_catalog: SkillCatalog, tmp_path: Path) -> None:
    engine = start_engine(filled_catalog, tmp_path / "indexes", None)
    results = engine.search.search(SearchRequest("slow sql joins"))
    assert (results.mode, results.hits[0].id, results.hits[0].relevance) == ("keyword", "sql-review", "keyword")
    assert results.warnings == []
    with pytest.raises(SemanticUnavailable):
        engine.search.search(SearchRequest("slow sql joins", mode="semantic"))
    engine.close()


def test_an_outage_of_the_provider_gives_a_warning_and_is_made_up_for_later(
    filled_catalog: SkillCatalog, tmp_path: Path
) -> None:
    embedder = HashingEmbedder()
    embedder.down = True
    engine = start_engine(filled_catalog, tmp_path / "indexes", embedder)
    results = engine.search.search(SearchRequest("slow sql joins"))
    assert (results.mode, results.hits[0].id) == ("keyword", "sql-review")
    assert "degraded" in results.warnings[0]
    assert engine.status().pending == 3
    embedder.down = False
    wait_until(lambda: engine.status().pending == 0)
    assert engine.search.search(SearchRequest("slow sql joins")).mode == "hybrid"
    engine.close()


def test_a_refused_text_does_not_block_the_others(filled_catalog: SkillCatalog, tmp_path: Path) -> None:
    engine = Engine(filled_catalog.documents, tmp_path / "indexes", HashingEmbedder(refuses="sql"))
    engine.start()
    wait_until(lambda: engine.status().pending == 1)
    result = engine.reindex()
    assert (engine.status().pending, result.failed, result.errors) == (1, 1, ["a text was refused"])
    assert ids(engine, "trains and hotels", mode="semantic")[0] == "travel-plan"
    engine.close()


class HeldEmbedder(HashingEmbedder):
    """Embeds some texts and holds the next one until `go_on`."""

    def __init__(self, free: int) -> None:
        super().__init__()
        self._free = free
        self.go_on = threading.Event()

    def documents(self, texts: Sequence[str]) -> Matrix:
        if len(self.embedded) >= self._free:
            assert self.go_on.wait(PATIENCE_SECONDS)
        return super().documents(texts)


def test_what_is_embedded_is_stored_long_before_all_of_it(catalog: SkillCatalog, tmp_path: Path) -> None:
    catalog.put_many((f"skill-{number}", f"does thing {number}", "") for number in range(200))
    embedder = HeldEmbedder(100)
    engine = Engine(catalog.documents, tmp_path, embedder)
    engine.start()
    wait_until(lambda: 16 <= engine.status().indexed <= 100)
    assert engine.status().pending == 200 - engine.status().indexed
    embedder.go_on.set()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    assert (engine.status().indexed, engine.status().pending, len(embedder.embedded)) == (200, 0, 200)
    engine.close()


def test_reindex_embeds_only_what_changed_unless_forced(engine: Engine) -> None:
    assert engine.reindex().reindexed == 0
    forced = engine.reindex(force=True)
    assert (forced.reindexed, forced.count, forced.skipped, forced.failed) == (3, 3, 0, 0)
    assert engine.status().drift == 0


def test_search_works_during_a_forced_reindex(filled_catalog: SkillCatalog, tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    engine = start_engine(filled_catalog, tmp_path / "indexes", embedder)
    embedder.down = True
    hits = engine.search.search(SearchRequest("slow sql joins", mode="keyword")).hits
    assert engine.reindex(force=True).failed == 3
    assert engine.search.search(SearchRequest("slow sql joins", mode="keyword")).hits == hits
    assert engine.status().drift == 0
    engine.close()


def test_the_old_model_serves_until_the_new_space_is_complete(filled_catalog: SkillCatalog, tmp_path: Path) -> None:
    old, new = HashingEmbedder("old"), HashingEmbedder("new")
    start_engine(filled_catalog, tmp_path / "indexes", old).close()
    new.down = True
    engine = start_engine(filled_catalog, tmp_path / "indexes", new, previous=(old, text_space(old)))
    assert engine.search.search(SearchRequest("slow sql joins")).mode == "hybrid"
    new.down = False
    wait_until(lambda: engine.status().pending == 0 and filled_catalog.documents.vector_count(text_space(old)) == 0)
    old.down = True
    assert engine.search.search(SearchRequest("trains and hotels")).mode == "hybrid"
    engine.close()


def test_a_process_without_indexing_switches_to_the_new_space(filled_catalog: SkillCatalog, tmp_path: Path) -> None:
    old, new = HashingEmbedder("old"), HashingEmbedder("new")
    start_engine(filled_catalog, tmp_path / "one", old).close()
    change = {"previous": (old, text_space(old))}
    follower = start_engine(filled_catalog, tmp_path / "two", new, indexing=False, **change)
    assert ids(follower, "trains and hotels", mode="semantic")[0] == "travel-plan"
    leader = start_engine(filled_catalog, tmp_path / "one", new, **change)
    wait_until(lambda: filled_catalog.documents.spaces() == [text_space(new)])
    old.down = True
    assert ids(follower, "slow sql joins", mode="semantic")[0] == "sql-review"
    for engine in (leader, follower):
        engine.close()


def test_a_restart_rebuilds_nothing(filled_catalog: SkillCatalog, tmp_path: Path) -> None:
    start_engine(filled_catalog, tmp_path / "indexes", HashingEmbedder()).close()
    embedder = HashingEmbedder()
    engine = start_engine(filled_catalog, tmp_path / "indexes", embedder)
    assert embedder.embedded == []
    assert engine.index_sync.lexical.rebuild_reason is None
    assert ids(engine, "slow sql joins")[0] == "sql-review"
    engine.close()


def test_a_deleted_index_folder_is_rebuilt(filled_catalog: SkillCatalog, tmp_path: Path) -> None:
    start_engine(filled_catalog, tmp_path / "indexes", HashingEmbedder()).close()
    embedder = HashingEmbedder()
    engine = start_engine(filled_catalog, tmp_path / "elsewhere", embedder)
    assert embedder.embedded == []
    assert ids(engine, "slow sql joins", mode="semantic")[0] == "sql-review"
    engine.close()
