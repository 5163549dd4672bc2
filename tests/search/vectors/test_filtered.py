"""Filtered nearest-neighbour search: recall for any share of passing documents, near to the query or not."""

from pathlib import Path

import numpy as np
import pytest

from search.lexical.index import LexicalIndex
from search.lexical.reader import LexicalReader
from search.types import Document, DocumentGone, DocumentPut, Filter, Match
from search.vectors import ivf_segment
from search.vectors.filtered import FilteredNeighbours
from search.vectors.memory_index import MemoryVectors
from support.vectors import clustered_vectors, nearest, put, recall

COUNT = 10_000
VECTORS = clustered_vectors(COUNT + 40)
QUERIES = VECTORS[COUNT:]
KEYS = np.arange(1, COUNT + 1)
TAGS = {"one-in-1000": 1000, "one-in-100": 100, "one-in-10": 10, "one-in-2": 2}
NEAR = KEYS[VECTORS[:COUNT] @ VECTORS[COUNT] > 0.3]
"""The documents near to the first query."""


def document(key: int) -> Document:
    tags = [f"tag:{tag}" for tag, share in TAGS.items() if key % share == 0]
    return Document(key=key, id=f"skill-{key}", name="skill", labels=(*tags, *(["near"] if key in NEAR else [])))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> LexicalReader:
    index = LexicalIndex(tmp_path_factory.mktemp("lexical"), "catalog")
    index.apply([DocumentPut(int(key), document(int(key))) for key in KEYS], COUNT)
    return index.reader


@pytest.fixture(scope="module", params=[100_000, 1000], ids=["flat", "ivf"])
def vectors(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MemoryVectors:
    index = MemoryVectors(tmp_path_factory.mktemp("v") / "v.faiss", "catalog", "space", 32, max_flat=request.param)
    put(index, KEYS, VECTORS[:COUNT])
    index.wait_for_merge()
    return index


@pytest.fixture(autouse=True)
def probe_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivf_segment, "PROBED_VECTORS", 3000)


def search(reader: LexicalReader, vectors: MemoryVectors, allowed: Filter, depth: int = 50) -> list[Match]:
    neighbours = FilteredNeighbours()
    return [neighbours.nearest(vectors, query[None], depth, reader, allowed) for query in QUERIES]


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("inverted", [False, True], ids=["with", "without"])
def test_the_ten_nearest_that_pass_are_found(
    reader: LexicalReader, vectors: MemoryVectors, tag: str, inverted: bool
) -> None:
    passing = KEYS[(KEYS % TAGS[tag] == 0) != inverted]
    allowed = Filter((), (f"tag:{tag}",)) if inverted else Filter(((f"tag:{tag}",),))
    found = search(reader, vectors, allowed)
    assert recall(found, [nearest(VECTORS[passing - 1], passing, query, 10) for query in QUERIES]) >= 0.95
    assert all(np.isin(match.keys, passing).all() for match in found)


def test_passing_documents_are_found_if_none_near_passes(reader: LexicalReader, vectors: MemoryVectors) -> None:
    passing = np.setdiff1d(KEYS, NEAR)
    found = search(reader, vectors, Filter((), ("near",)))[0].keys
    assert 100 < len(NEAR) < COUNT / 2
    assert len(np.intersect1d(found, nearest(VECTORS[passing - 1], passing, QUERIES[0], 10))) >= 9
    assert not np.isin(found, NEAR).any()


def test_a_change_of_the_passing_documents_is_visible_at_once(tmp_path: Path, vectors: MemoryVectors) -> None:
    index, neighbours = LexicalIndex(tmp_path / "lexical", "catalog"), FilteredNeighbours()
    index.apply([DocumentPut(key, document(key)) for key in range(1, 2001)], 2000)
    allowed = Filter((("tag:one-in-1000",),))
    assert sorted(neighbours.nearest(vectors, QUERIES[:1], 5, index.reader, allowed).keys.tolist()) == [1000, 2000]
    index.apply([DocumentGone(2001, 1000)], 2001)
    assert neighbours.nearest(vectors, QUERIES[:1], 5, index.reader, allowed).keys.tolist() == [2000]


def test_a_few_rejected_documents_are_left_out_whether_on_disk_or_in_memory(
    tmp_path: Path, vectors: MemoryVectors
) -> None:
    def skill(key: int, *, enabled: bool) -> Document:
        return Document(key=key, id=f"skill-{key}", name="skill", labels=(f"enabled:{str(enabled).lower()}",))

    index, allowed = LexicalIndex(tmp_path / "lexical", "catalog"), Filter((), ("enabled:false", "shadowed:true"))
    best = nearest(VECTORS[:COUNT], KEYS, QUERIES[0], 60)
    disabled = set(best[:20:2])
    index.apply([DocumentPut(int(key), skill(int(key), enabled=key not in disabled)) for key in KEYS], COUNT)
    index.flush()
    enabled_again, disabled_now = best[:2]
    index.apply([DocumentPut(COUNT + 1, skill(enabled_again, enabled=True))], COUNT + 1)
    index.apply([DocumentPut(COUNT + 2, skill(disabled_now, enabled=False))], COUNT + 2)
    rejected = (disabled - {enabled_again}) | {disabled_now}
    seen = index.reader.rejected_keys(allowed)
    assert seen is not None
    assert sorted(seen.tolist()) == sorted(rejected)
    found = FilteredNeighbours().nearest(vectors, QUERIES[:1], 50, index.reader, allowed).keys
    assert len(found) >= 50
    assert not np.isin(found, list(rejected)).any()
    passing = [key for key in best if key not in rejected]
    assert len(set(passing[:10]) & set(found.tolist())) >= 9
    index.close()
