"""Words of queries in other languages: stop words do not count, and words are no misspellings of English ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from search.engine import Engine
from search.requests import SearchRequest
from support.catalogs import SkillCatalog

SKILLS = [
    ("postgres-backup", "Back up postgres databases with pg_dump"),
    ("mein-mit-der", "Explains how the German words mein, mit and der are used"),
    ("machine-kit", "A machine with a test kit for tests of any kind"),
]


@pytest.fixture
def engine(catalog: SkillCatalog, tmp_path: Path) -> Iterator[Engine]:
    catalog.put_many([(name, text, "") for name, text in SKILLS])
    engine = Engine(catalog.documents, tmp_path / "indexes", None)
    engine.start()
    yield engine
    engine.close()


def test_stop_words_of_other_languages_do_not_count(engine: Engine) -> None:
    hits = engine.search.search(SearchRequest("wie sichere ich mit der Konsole mein postgres")).hits
    assert [hit.id for hit in hits] == ["postgres-backup"]


def test_no_word_of_another_language_is_taken_for_a_misspelled_one(engine: Engine) -> None:
    results = engine.search.search(SearchRequest("wie soll ich das machene"))
    assert "machine-kit" not in [hit.id for hit in results.hits]


def test_a_query_of_stop_words_only_is_searched_by_them(engine: Engine) -> None:
    hits = engine.search.search(SearchRequest("mein mit der")).hits
    assert hits[0].id == "mein-mit-der"
