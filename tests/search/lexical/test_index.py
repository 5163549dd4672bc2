"""The keyword index: matches, ranking, flushing, and damaged files."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search.inspection import read_lexical
from search.lexical.index import LexicalIndex
from search.text import QUERY_TERMS, fold
from search.types import Document, DocumentGone, DocumentPut, Filter
from support.waiting import wait_until

NO_FILTER = Filter()


def put(revision: int, key: int, name: str, **fields: Any) -> DocumentPut:
    values: dict[str, Any] = {"key": key, "id": name.lower().replace(" ", "-"), "name": name, **fields}
    return DocumentPut(revision, Document(**values))


DOCUMENTS = (
    put(1, 1, "PDF Tools", description="merge and split pdf files", labels=("source:a", "enabled:true")),
    put(2, 2, "Image Resize", description="resize pictures", body="also a pdf cover", labels=("source:b",)),
    put(3, 3, "pdf", description="read documents", labels=("source:b", "enabled:false")),
)


def filled(folder: Path, flushed: int = 3) -> LexicalIndex:
    """Return an index of three documents, of which the first `flushed` are on disk."""
    index = LexicalIndex(folder, "catalog")
    for change in DOCUMENTS[:flushed]:
        index.apply([change], change.revision)
    index.flush()
    for change in DOCUMENTS[flushed:]:
        index.apply([change], change.revision)
    return index


@pytest.fixture(params=[3, 2, 1, 0], ids="{} flushed".format)
def index(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LexicalIndex]:
    monkeypatch.setattr("search.lexical.index.FLUSH_SECONDS", 3600.0)
    index = filled(tmp_path / "index", request.param)
    yield index
    index.close()


def search(index: LexicalIndex, query: str, allowed: Filter = NO_FILTER) -> list[int]:
    found: list[int] = index.reader.search(index.reader.terms(query), 10, allowed).keys.tolist()
    return found


def test_a_word_in_the_name_counts_more_than_one_in_the_body(index: LexicalIndex) -> None:
    assert search(index, "pdf")[-1] == 2
    assert set(search(index, "pdf")) == {1, 2, 3}


def test_terms_are_matched_by_their_stem(index: LexicalIndex) -> None:
    assert search(index, "resizing a picture") == [2]


def test_a_word_that_the_query_repeats_weighs_more_but_not_twice_as_much(index: LexicalIndex) -> None:
    assert index.reader.terms("merge PDF files, then split the merged PDF file") == pytest.approx(
        {"merg": 2**0.5, "pdf": 2**0.5, "file": 2**0.5, "split": 1.0}
    )


def test_a_long_query_keeps_the_words_that_say_most(index: LexicalIndex) -> None:
    terms = index.reader.terms(" ".join(f"unknown{number}" for number in range(100)) + " pdf pictures")
    assert len(terms) == QUERY_TERMS
    assert {"pdf", "pictur"} <= terms.keys()


def test_a_filter_requires_a_label_of_every_group(index: LexicalIndex) -> None:
    assert search(index, "pdf", Filter((("source:b",),))) == [3, 2]
    assert search(index, "pdf", Filter((("source:a", "source:b"), ("enabled:true",)))) == [1]
    assert search(index, "pdf", Filter((), ("enabled:false",))) == [1, 2]
    assert sorted(index.reader.keys(Filter((("source:b",),)))) == [2, 3]


@pytest.mark.parametrize("name", ["PDF Tools", "pdf-tools", "pdf_tools", "PDFTOOLS", "pdf  tools"])
def test_a_name_is_found_whatever_its_case_and_separators(index: LexicalIndex, name: str) -> None:
    assert index.reader.keys_by_name(fold(name), 10, NO_FILTER) == [1]


def test_a_prefix_finds_longer_names(index: LexicalIndex) -> None:
    assert index.reader.keys_by_name_prefix("pdf", 10, NO_FILTER) == [3, 1]


def test_the_latest_change_of_a_document_wins(index: LexicalIndex) -> None:
    index.apply([put(4, 2, "Zebra"), DocumentGone(5, 3)], 5)
    assert search(index, "pictures") == []
    assert search(index, "zebra") == [2]
    assert (len(index.reader), index.reader.revision) == (2, 5)


def test_scores_do_not_depend_on_which_segment_has_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.lexical.index.FLUSH_SECONDS", 3600.0)
    index, rng = LexicalIndex(tmp_path, "catalog"), random.Random(7)
    words = [f"word{number}" for number in range(300)]
    bodies = [" ".join(rng.choices(words, k=round(1.08**number))) for number in range(100)]
    index.apply([put(key, key, words[key], body=body) for key, body in enumerate(bodies, 1)], 100)

    def scores() -> list[dict[int, float]]:
        drawn = (random.Random(seed) for seed in range(20))
        queries = ({word: chance.choice((1.0, 1.7)) for word in chance.sample(words, 4)} for chance in drawn)
        matches = (index.reader.search(query, 100, NO_FILTER) for query in queries)
        return [dict(zip(match.keys.tolist(), match.scores.tolist(), strict=True)) for match in matches]

    weights = dict.fromkeys(words[:5], 1.5)
    in_memory, ceiling = scores(), index.reader.ceiling(weights)
    assert read_lexical(tmp_path).state.revision == 0
    index.flush()
    assert read_lexical(tmp_path).state.revision == 100
    assert index.reader.ceiling(weights) == pytest.approx(ceiling)
    for on_disk, expected in zip(scores(), in_memory, strict=True):
        assert on_disk == pytest.approx(expected, rel=1e-4)
    index.close()


@pytest.mark.parametrize("batches", [[1, 1, 1, 1], [2, 2], [3, 1]])
def test_scores_do_not_depend_on_how_many_commits_wrote_the_documents(tmp_path: Path, batches: list[int]) -> None:
    documents = [put(key, key, f"Word{key} common", body=f"common {'rare ' * key}") for key in range(1, 5)]
    together = LexicalIndex(tmp_path / "together", "catalog")
    together.apply(documents, 4)
    together.flush()
    apart = LexicalIndex(tmp_path / "apart", "catalog")
    revision = 0
    for size in batches:
        apart.apply(documents[revision : revision + size], revision + size)
        revision += size
        apart.flush()
        apart.flush()
    expected, actual = (
        index.reader.search({"common": 1.0, "rare": 1.0, "word3": 2.0}, 10, NO_FILTER) for index in (together, apart)
    )
    assert actual.keys.tolist() == expected.keys.tolist()
    assert actual.scores.tolist() == expected.scores.tolist()
    for index in (together, apart):
        index.close()


def test_after_a_crash_between_a_commit_and_its_state_changes_are_applied_again(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path, "catalog")
    index.apply([put(1, 1, "Alpha"), put(2, 2, "Beta")], 2)
    index.flush()
    before = (tmp_path / "state.json").read_bytes()
    changes: list[DocumentPut | DocumentGone] = [put(3, 2, "Gamma"), put(4, 3, "Delta"), DocumentGone(5, 1)]
    index.apply(changes, 5)
    index.close()
    (tmp_path / "state.json").write_bytes(before)
    reopened = LexicalIndex(tmp_path, "catalog")
    assert (reopened.reader.revision, reopened.rebuild_reason) == (2, None)
    reopened.apply(changes, 5)
    reopened.flush()
    assert sorted(reopened.reader.keys(NO_FILTER).tolist()) == [2, 3]
    assert [search(reopened, word) for word in ("alpha", "beta", "gamma", "delta")] == [[], [], [2], [3]]
    assert read_lexical(tmp_path).state.revision == 5
    reopened.close()


def test_a_document_that_changes_during_a_flush_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("search.lexical.index.FLUSH_SECONDS", 0.001)
    index = LexicalIndex(tmp_path, "catalog")
    for revision in range(1, 301):
        key = revision % 50 + 1
        deleted = revision % 7 == 0
        index.apply([DocumentGone(revision, key) if deleted else put(revision, key, f"Word{revision}")], revision)
        assert search(index, f"word{revision}") == ([] if deleted else [key])
        assert search(index, f"word{revision - 50}") == []
        keys = index.reader.keys(NO_FILTER).tolist()
        assert (len(keys), len(set(keys))) == (len(index.reader), len(index.reader))
    expected = sorted(index.reader.keys(NO_FILTER).tolist())
    index.close()
    reopened = LexicalIndex(tmp_path, "catalog")
    assert (reopened.reader.revision, sorted(reopened.reader.keys(NO_FILTER).tolist())) == (300, expected)
    reopened.close()


def test_changes_are_flushed_to_disk_in_the_background(tmp_path: Path) -> None:
    index = filled(tmp_path / "index", flushed=2)
    wait_until(lambda: read_lexical(tmp_path / "index").state.revision >= 3)
    index.close()


def test_a_reopened_index_is_at_the_same_revision(tmp_path: Path) -> None:
    filled(tmp_path).close()
    reopened = LexicalIndex(tmp_path, "catalog")
    assert (reopened.reader.revision, len(reopened.reader), reopened.rebuild_reason) == (3, 3, None)
    reopened.close()


def test_an_index_of_another_catalog_is_not_used(tmp_path: Path) -> None:
    filled(tmp_path).close()
    other = LexicalIndex(tmp_path, "another")
    assert (other.reader.revision, len(other.reader)) == (0, 0)
    other.close()


def test_a_flipped_byte_anywhere_in_a_segment_is_detected(tmp_path: Path) -> None:
    filled(tmp_path / "intact").close()
    segments = [path for path in (tmp_path / "intact").iterdir() if len(path.stem) == 32]
    assert len(segments) >= 5
    for path in segments:
        for position in range(0, path.stat().st_size, 23):
            damaged = tmp_path / f"{path.suffix}-{position}"
            shutil.copytree(tmp_path / "intact", damaged)
            data = bytearray(path.read_bytes())
            data[position] ^= 4
            (damaged / path.name).write_bytes(data)
            index = LexicalIndex(damaged, "catalog")
            assert index.rebuild_reason, (path.name, position)
            assert index.reader.revision == 0
            index.close()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"segments": [{}]}', '{"segments": []}'])
def test_damaged_metadata_is_detected(tmp_path: Path, damage: str) -> None:
    filled(tmp_path).close()
    (tmp_path / "meta.json").write_text(damage)
    index = LexicalIndex(tmp_path, "catalog")
    assert (index.reader.revision, len(index.reader)) == (0, 0)
    index.close()


@pytest.mark.parametrize("hidden", [0, 1, 40, 90])
def test_what_is_dropped_after_a_search_is_what_the_query_excludes(tmp_path: Path, hidden: int) -> None:
    numbers, words = random.Random(3), [f"word{number}" for number in range(60)]
    label = Filter((), ("enabled:false", "shadowed:true"))
    index = LexicalIndex(tmp_path / "index", "catalog")
    texts = [" ".join(numbers.choices(words, range(1, 61), k=12)) for _ in range(400)]
    labels = [("enabled:false",) if key < hidden else ("enabled:true",) for key in range(400)]
    index.apply([put(key + 1, key, f"n{key}", body=texts[key], labels=labels[key]) for key in range(400)], 400)
    index.flush()
    for key in (3, 200, 201, 399):  # replaced in memory; key 3 may be disabled on disk only
        index.apply([put(401 + key, key, f"n{key}", body="other", labels=("enabled:true",))], 401 + key)
    index.apply([DocumentGone(900, 77)], 900)
    reader = index.reader
    for _ in range(50):
        query = reader._any_of(reader.terms(" ".join(numbers.sample(words, 4))))
        for allowed in (NO_FILTER, label, Filter((("enabled:true",),), label.excluded)):
            for limit in (1, 10, 400):
                expected = reader._search_disk(query, limit, allowed, count=True)
                for count in (False, True):
                    found = reader._best_on_disk(query, limit, allowed, count=count)
                    assert found.keys.tolist() == expected.keys.tolist()
                    assert found.scores == pytest.approx(expected.scores)
                    assert found.total == (expected.total if count else None)
    index.close()
