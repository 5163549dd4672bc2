"""The words index: what is found, in which order, and what survives damage."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from search.text import fold
from search.types import Document, DocumentGone, DocumentPut, Filter
from search.words import WordsIndex

ALL = Filter()


def put(number: int, key: int, name: str, **fields: object) -> DocumentPut:
    document = Document(**{"key": key, "id": name.lower().replace(" ", "-"), "name": name, **fields})
    return DocumentPut(number, document)


def filled(folder: Path) -> WordsIndex:
    index = WordsIndex(folder, "catalog")
    index.apply(
        [
            put(1, 1, "PDF Tools", description="merge and split pdf files", labels=("source:a", "enabled:true")),
            put(2, 2, "Image Resize", description="resize pictures", body="also a pdf cover", labels=("source:b",)),
            put(3, 3, "pdf", description="read documents", labels=("source:b", "enabled:false")),
        ],
        3,
    )
    return index


@pytest.fixture
def words(tmp_path: Path) -> Iterator[WordsIndex]:
    index = filled(tmp_path / "words")
    yield index
    index.close()


def found(words: WordsIndex, text: str, allowed: Filter = ALL) -> list[int]:
    return words.search(words.terms(text), 10, allowed).keys.tolist()


def test_a_word_in_the_name_counts_more_than_one_in_the_body(words: WordsIndex) -> None:
    assert found(words, "pdf")[-1] == 2
    assert set(found(words, "pdf")) == {1, 2, 3}


def test_words_are_matched_by_their_stem(words: WordsIndex) -> None:
    assert found(words, "resizing a picture") == [2]


def test_filters_ask_for_a_label_of_every_group(words: WordsIndex) -> None:
    assert found(words, "pdf", Filter((("source:b",),))) == [3, 2]
    assert found(words, "pdf", Filter((("source:a", "source:b"), ("enabled:true",)))) == [1]
    assert found(words, "pdf", Filter((), ("enabled:false",))) == [1, 2]
    assert sorted(words.keys(Filter((("source:b",),)))) == [2, 3]


@pytest.mark.parametrize("name", ["PDF Tools", "pdf-tools", "pdf_tools", "PDFTOOLS", "pdf  tools"])
def test_a_name_is_found_whatever_its_case_and_separators(words: WordsIndex, name: str) -> None:
    assert words.named(fold(name), 10, ALL) == [1]


def test_a_prefix_finds_longer_names(words: WordsIndex) -> None:
    assert words.named_with_prefix("pdf", 10, ALL) == [3, 1]


def test_the_latest_change_of_a_document_counts(words: WordsIndex) -> None:
    words.apply([put(4, 2, "Zebra"), DocumentGone(5, 3)], 5)
    assert found(words, "pictures") == []
    assert found(words, "zebra") == [2]
    assert (len(words), words.number) == (2, 5)


def test_a_reopened_index_stands_where_it_stood(tmp_path: Path) -> None:
    filled(tmp_path).close()
    again = WordsIndex(tmp_path, "catalog")
    assert (again.number, len(again), again.rebuilt_because) == (3, 3, None)
    again.close()


def test_an_index_of_another_catalog_is_not_used(tmp_path: Path) -> None:
    filled(tmp_path).close()
    other = WordsIndex(tmp_path, "another")
    assert (other.number, len(other)) == (0, 0)
    other.close()


def test_a_flipped_byte_anywhere_in_a_segment_is_noticed(tmp_path: Path) -> None:
    filled(tmp_path / "sound").close()
    segments = [path for path in (tmp_path / "sound").iterdir() if len(path.stem) == 32]
    assert len(segments) >= 5
    for path in segments:
        for position in range(0, path.stat().st_size, 23):
            damaged = tmp_path / f"{path.suffix}-{position}"
            shutil.copytree(tmp_path / "sound", damaged)
            data = bytearray(path.read_bytes())
            data[position] ^= 4
            (damaged / path.name).write_bytes(data)
            index = WordsIndex(damaged, "catalog")
            assert index.rebuilt_because, (path.name, position)
            assert index.number == 0
            index.close()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"segments": [{}]}', '{"segments": []}'])
def test_damaged_metadata_is_noticed(tmp_path: Path, damage: str) -> None:
    filled(tmp_path).close()
    (tmp_path / "meta.json").write_text(damage)
    index = WordsIndex(tmp_path, "catalog")
    assert (index.number, len(index)) == (0, 0)
    index.close()
