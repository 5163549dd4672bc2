"""The words index: what is found, in which order, and what survives damage."""

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from search.inspection import words_held
from search.lexical.index import LexicalIndex
from search.text import fold
from search.types import Document, DocumentGone, DocumentPut, Filter

ALL = Filter()


def put(number: int, key: int, name: str, **fields: object) -> DocumentPut:
    document = Document(**{"key": key, "id": name.lower().replace(" ", "-"), "name": name, **fields})
    return DocumentPut(number, document)


FIRST = (
    put(1, 1, "PDF Tools", description="merge and split pdf files", labels=("source:a", "enabled:true")),
    put(2, 2, "Image Resize", description="resize pictures", body="also a pdf cover", labels=("source:b",)),
    put(3, 3, "pdf", description="read documents", labels=("source:b", "enabled:false")),
)


def filled(folder: Path, saved: int = 3) -> LexicalIndex:
    """Return an index of three documents, of which so many are on the disk."""
    index = LexicalIndex(folder, "catalog")
    for change in FIRST[:saved]:
        index.apply([change], change.number)
    index.save()
    for change in FIRST[saved:]:
        index.apply([change], change.number)
    return index


@pytest.fixture(params=[3, 2, 1, 0], ids="{} saved".format)
def words(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LexicalIndex]:
    monkeypatch.setattr("search.words.SAVED_AFTER_SECONDS", 3600.0)
    index = filled(tmp_path / "words", request.param)
    yield index
    index.close()


def found(words: LexicalIndex, text: str, allowed: Filter = ALL) -> list[int]:
    return words.state.search(words.state.terms(text), 10, allowed).keys.tolist()


def test_a_word_in_the_name_counts_more_than_one_in_the_body(words: LexicalIndex) -> None:
    assert found(words, "pdf")[-1] == 2
    assert set(found(words, "pdf")) == {1, 2, 3}


def test_words_are_matched_by_their_stem(words: LexicalIndex) -> None:
    assert found(words, "resizing a picture") == [2]


def test_filters_ask_for_a_label_of_every_group(words: LexicalIndex) -> None:
    assert found(words, "pdf", Filter((("source:b",),))) == [3, 2]
    assert found(words, "pdf", Filter((("source:a", "source:b"), ("enabled:true",)))) == [1]
    assert found(words, "pdf", Filter((), ("enabled:false",))) == [1, 2]
    assert sorted(words.state.keys(Filter((("source:b",),)))) == [2, 3]


@pytest.mark.parametrize("name", ["PDF Tools", "pdf-tools", "pdf_tools", "PDFTOOLS", "pdf  tools"])
def test_a_name_is_found_whatever_its_case_and_separators(words: LexicalIndex, name: str) -> None:
    assert words.state.named(fold(name), 10, ALL) == [1]


def test_a_prefix_finds_longer_names(words: LexicalIndex) -> None:
    assert words.state.named_with_prefix("pdf", 10, ALL) == [3, 1]


def test_the_latest_change_of_a_document_counts(words: LexicalIndex) -> None:
    words.apply([put(4, 2, "Zebra"), DocumentGone(5, 3)], 5)
    assert found(words, "pictures") == []
    assert found(words, "zebra") == [2]
    assert (len(words.state), words.state.number) == (2, 5)


def test_a_score_does_not_tell_whether_a_document_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.words.SAVED_AFTER_SECONDS", 3600.0)
    index, drawn = LexicalIndex(tmp_path, "catalog"), random.Random(7)
    words = [f"word{number}" for number in range(300)]
    bodies = [" ".join(drawn.choices(words, k=round(1.08**number))) for number in range(100)]
    index.apply([put(key, key, words[key], body=body) for key, body in enumerate(bodies, 1)], 100)

    def scores() -> list[dict[int, float]]:
        answers = (index.state.search(random.Random(number).sample(words, 4), 100, ALL) for number in range(20))
        return [dict(zip(one.keys.tolist(), one.scores.tolist(), strict=True)) for one in answers]

    fresh, ceiling = scores(), index.state.ceiling(words[:5])
    assert words_held(tmp_path).state.number == 0
    index.save()
    assert words_held(tmp_path).state.number == 100
    assert index.state.ceiling(words[:5]) == pytest.approx(ceiling)
    for one, other in zip(scores(), fresh, strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    index.close()


def test_what_changes_while_it_is_saved_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.words.SAVED_AFTER_SECONDS", 0.001)
    index = LexicalIndex(tmp_path, "catalog")
    for number in range(1, 301):
        key = number % 50 + 1
        gone = number % 7 == 0
        index.apply([DocumentGone(number, key) if gone else put(number, key, f"Word{number}")], number)
        assert found(index, f"word{number}") == ([] if gone else [key])
        assert found(index, f"word{number - 50}") == []
        there = index.state.keys(ALL).tolist()
        assert (len(there), len(set(there))) == (len(index.state), len(index.state))
    expected = sorted(index.state.keys(ALL).tolist())
    index.close()
    again = LexicalIndex(tmp_path, "catalog")
    assert (again.state.number, sorted(again.state.keys(ALL).tolist())) == (300, expected)
    again.close()


def test_what_is_new_is_on_the_disk_soon(tmp_path: Path) -> None:
    index = filled(tmp_path / "words", saved=2)
    deadline = time.monotonic() + 30
    while words_held(tmp_path / "words").state.number < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    index.close()


def test_a_reopened_index_stands_where_it_stood(tmp_path: Path) -> None:
    filled(tmp_path).close()
    again = LexicalIndex(tmp_path, "catalog")
    assert (again.state.number, len(again.state), again.rebuilt_because) == (3, 3, None)
    again.close()


def test_an_index_of_another_catalog_is_not_used(tmp_path: Path) -> None:
    filled(tmp_path).close()
    other = LexicalIndex(tmp_path, "another")
    assert (other.state.number, len(other.state)) == (0, 0)
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
            index = LexicalIndex(damaged, "catalog")
            assert index.rebuilt_because, (path.name, position)
            assert index.state.number == 0
            index.close()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"segments": [{}]}', '{"segments": []}'])
def test_damaged_metadata_is_noticed(tmp_path: Path, damage: str) -> None:
    filled(tmp_path).close()
    (tmp_path / "meta.json").write_text(damage)
    index = LexicalIndex(tmp_path, "catalog")
    assert (index.state.number, len(index.state)) == (0, 0)
    index.close()
