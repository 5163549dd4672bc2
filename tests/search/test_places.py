"""One place for near-copies in a search: who is shown, who is counted, and how they are left apart."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from search.engine import Engine
from search.modes import RanMode
from search.requests import SearchRequest
from search.types import Filter
from support.catalogs import HashingEmbedder, SkillCatalog
from support.waiting import PATIENCE_SECONDS

_BODY = " ".join(random.Random(1).choices([f"step{number}" for number in range(200)], k=120))
_DESCRIPTION = "Back up a folder to an encrypted archive"


@pytest.fixture
def engine(catalog: SkillCatalog, tmp_path: Path) -> Iterator[Engine]:
    for name in ("ann/backup", "ben/backup", "cyd/backup", "dee/backup"):
        catalog.put(name, _DESCRIPTION, _BODY, name="backup", enabled=name != "dee/backup")
    catalog.put("restore", "Restore a folder from an encrypted archive", "unpack it")
    catalog.put("sync", "Copy an encrypted folder to another machine", "over ssh")
    engine = Engine(catalog.documents, tmp_path / "indexes", HashingEmbedder())
    engine.start()
    engine.wait_until_embedded(PATIENCE_SECONDS)
    yield engine
    engine.close()


_ENABLED = Filter(excluded=("enabled:false",))
_QUERY = "encrypted archive of a folder"
_LISTED = ('"installed":true', '"installed":false')


def keys_of(catalog: SkillCatalog, skill_id: str) -> list[int]:
    return [key for (key,) in catalog.database.read("select key from skills where id = ?", (skill_id,))]


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_copies_share_the_place_of_the_original(engine: Engine, mode: RanMode) -> None:
    results = engine.search.search(SearchRequest(_QUERY, mode="auto" if mode == "hybrid" else mode, allowed=_ENABLED))
    ids = [hit.id for hit in results.hits]
    assert sorted(ids) == ["ann/backup", "restore", "sync"]
    copies = {hit.id: (hit.copies.number, list(hit.copies.ids)) for hit in results.hits}
    assert copies == {"ann/backup": (2, ["ben/backup", "cyd/backup"]), "restore": (0, []), "sync": (0, [])}
    assert results.total.keys == [hit.key for hit in results.hits if hit.relevance != "low"]
    assert (results.total.number, results.total.is_floor) == (len(results.total.keys), False)
    scores = [hit.score for hit in results.hits]
    assert scores == sorted(scores, reverse=True)


def test_pages_continue_without_the_copies(engine: Engine) -> None:
    pages = [engine.search.search(SearchRequest(_QUERY, limit=1, offset=offset)).hits for offset in range(4)]
    whole = engine.search.search(SearchRequest(_QUERY)).hits
    assert [hit for page in pages for hit in page] == whole


def test_a_search_may_leave_the_copies_apart(engine: Engine) -> None:
    results = engine.search.search(SearchRequest(_QUERY, groups=False, allowed=_ENABLED))
    assert {"ann/backup", "ben/backup", "cyd/backup"} < {hit.id for hit in results.hits}
    assert results.total.keys == [hit.key for hit in results.hits if hit.relevance != "low"]
    assert all(hit.copies.number == 0 for hit in results.hits)


def test_a_copy_that_is_named_has_the_place(engine: Engine) -> None:
    best = engine.search.search(SearchRequest("cyd/backup")).hits[0]
    assert (best.id, best.score) == ("cyd/backup", 1.0)
    assert list(best.copies.ids) == ["ann/backup", "ben/backup", "dee/backup"]


def test_a_copy_that_alone_passes_the_filter_has_the_place(engine: Engine, catalog: SkillCatalog) -> None:
    catalog.put("ben/backup", _DESCRIPTION, _BODY, name="backup", tags=["mine"])
    engine.changed()
    found = engine.search.search(SearchRequest(_QUERY, allowed=Filter((("tag:mine",),)))).hits
    assert [(hit.id, hit.copies.number) for hit in found] == [("ben/backup", 0)]


def test_a_copy_that_is_installed_has_the_place(engine: Engine, catalog: SkillCatalog) -> None:
    with catalog.database.write() as transaction:
        for key in keys_of(catalog, "ann/backup"):
            transaction.execute("update documents set card = replace(card, ?, ?) where key = ?", (*_LISTED, key))
            transaction.execute("update counter set value = value + 1", ())
    engine.changed()
    assert {hit.id for hit in engine.search.search(SearchRequest(_QUERY, allowed=_ENABLED)).hits} == {
        "ben/backup",
        "restore",
        "sync",
    }


def test_a_copy_that_goes_is_not_counted(engine: Engine, catalog: SkillCatalog) -> None:
    with catalog.database.write() as transaction:
        for key in keys_of(catalog, "ben/backup"):
            catalog.catalog.delete(transaction, key)
    engine.changed()
    hits = {hit.id: hit for hit in engine.search.search(SearchRequest(_QUERY, allowed=_ENABLED)).hits}
    assert list(hits["ann/backup"].copies.ids) == ["cyd/backup"]


def test_a_restart_knows_the_copies(engine: Engine, catalog: SkillCatalog, tmp_path: Path) -> None:
    before = engine.search.search(SearchRequest(_QUERY)).hits
    engine.close()
    again = Engine(catalog.documents, tmp_path / "indexes", HashingEmbedder())
    again.start()
    assert len(again.index_sync.copies) == 3
    assert again.search.search(SearchRequest(_QUERY)).hits == before
    again.close()
