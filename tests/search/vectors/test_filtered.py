"""Neighbours under filters: the right ones, whatever share of the catalog passes and wherever it lies."""

from pathlib import Path

import numpy as np
import pytest

from search.lexical.index import LexicalIndex
from search.lexical.reader import LexicalReader
from search.types import Document, DocumentGone, DocumentPut, Filter, Match
from search.vectors import ivf_segment
from search.vectors.faiss_index import FaissVectors
from search.vectors.filtered import FilteredNeighbours
from support.vectors import clustered_vectors, nearest, put, recall

COUNT = 10_000
VECTORS = clustered_vectors(COUNT + 40)
QUERIES = VECTORS[COUNT:]
KEYS = np.arange(1, COUNT + 1)
TAGS = {"one-in-1000": 1000, "one-in-100": 100, "one-in-10": 10, "one-in-2": 2}
NEAR = KEYS[VECTORS[:COUNT] @ VECTORS[COUNT] > 0.3]
"""What is near to the first query."""


def document(key: int) -> Document:
    tags = [f"tag:{tag}" for tag, share in TAGS.items() if key % share == 0]
    return Document(key=key, id=f"skill-{key}", name="skill", labels=(*tags, *(["near"] if key in NEAR else [])))


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> LexicalReader:
    index = LexicalIndex(tmp_path_factory.mktemp("words"), "catalog")
    index.apply([DocumentPut(int(key), document(int(key))) for key in KEYS], COUNT)
    return index.state


@pytest.fixture(scope="module", params=[100_000, 1000], ids=["exact", "clusters"])
def vectors(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FaissVectors:
    index = FaissVectors(tmp_path_factory.mktemp("v") / "v.faiss", "catalog", "space", 32, exact=request.param)
    put(index, KEYS, VECTORS[:COUNT])
    index.settle()
    return index


@pytest.fixture(autouse=True)
def look_at_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivf_segment, "LOOKED_AT", 3000)


def of(words: LexicalReader, vectors: FaissVectors, allowed: Filter, depth: int = 50) -> list[Match]:
    neighbours = FilteredNeighbours()
    return [neighbours.nearest(vectors, query[None], depth, words, allowed) for query in QUERIES]


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("inverted", [False, True], ids=["with", "without"])
def test_the_ten_nearest_that_pass_are_found(
    words: LexicalReader, vectors: FaissVectors, tag: str, inverted: bool
) -> None:
    passing = KEYS[(KEYS % TAGS[tag] == 0) != inverted]
    allowed = Filter((), (f"tag:{tag}",)) if inverted else Filter(((f"tag:{tag}",),))
    found = of(words, vectors, allowed)
    assert recall(found, [nearest(VECTORS[passing - 1], passing, query, 10) for query in QUERIES]) >= 0.95
    assert all(np.isin(one.keys, passing).all() for one in found)


def test_what_passes_is_found_where_nothing_near_does(words: LexicalReader, vectors: FaissVectors) -> None:
    passing = np.setdiff1d(KEYS, NEAR)
    found = of(words, vectors, Filter((), ("near",)))[0].keys
    assert 100 < len(NEAR) < COUNT / 2
    assert len(np.intersect1d(found, nearest(VECTORS[passing - 1], passing, QUERIES[0], 10))) >= 9
    assert not np.isin(found, NEAR).any()


def test_a_change_of_what_passes_counts_at_once(tmp_path: Path, vectors: FaissVectors) -> None:
    index, neighbours = LexicalIndex(tmp_path / "words", "catalog"), FilteredNeighbours()
    index.apply([DocumentPut(key, document(key)) for key in range(1, 2001)], 2000)
    allowed = Filter((("tag:one-in-1000",),))
    assert sorted(neighbours.nearest(vectors, QUERIES[:1], 5, index.state, allowed).keys.tolist()) == [1000, 2000]
    index.apply([DocumentGone(2001, 1000)], 2001)
    assert neighbours.nearest(vectors, QUERIES[:1], 5, index.state, allowed).keys.tolist() == [2000]
