"""A Milvus that is away, slow or empty: searches fail at once, and nothing is lost."""

import time
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from registry.database.file_claims import hold
from registry.milvus.collections import MilvusCollections
from registry.milvus.connection import MilvusConnection
from registry.milvus.vectors import MilvusVectors
from search.types import DocumentGone, Documents, VectorPut
from search.vectors.base import VectorsUnavailable
from search.vectors.vector_sync import VectorSync
from support.milvus_server import MilvusServer
from support.vectors import VectorFeed, clustered_vectors, copied
from support.waiting import wait_until

pytestmark = pytest.mark.outside
VECTORS = clustered_vectors(50)


def index_of(connection: MilvusConnection, folder: Path, feed: VectorFeed, *, writes: bool = True) -> MilvusVectors:
    claim = partial(hold, folder / "claims") if writes else None
    return MilvusVectors(connection, feed, "space", 32, claim, "FLAT")


def best(index: MilvusVectors) -> list[int]:
    keys: list[int] = index.search(VECTORS[4:5], 1).keys.tolist()
    return keys


def test_it_is_away_then_slow_and_then_back(tmp_path: Path) -> None:
    server, feed = MilvusServer(tmp_path), VectorFeed(str(tmp_path), VECTORS)
    connection = server.connection(8.0)
    index = index_of(connection, tmp_path, feed)
    caught_up: list[int] = []
    sync = VectorSync(cast("Documents", feed), index, lambda: caught_up.append(1))
    sync.sync(50)
    with pytest.raises(VectorsUnavailable, match="lack the last changes, 50"):
        sync.check(50)
    with server:
        wait_until(lambda: caught_up)
        sync.check(50)
        assert best(index) == [5]
        server.pause()
        started = time.monotonic()
        with pytest.raises(VectorsUnavailable, match="did not answer within 8 s"):
            best(index)
        assert time.monotonic() - started < 60  # not as long as Milvus is paused, which is for ever
        server.resume()
        wait_until(lambda: _answers(index))
        server.kill()
        with pytest.raises(VectorsUnavailable):
            best(index)
        server.start()
        wait_until(lambda: _answers(index))
        assert (best(index), len(index)) == ([5], 50)
    sync.stop()
    connection.close()


def _answers(index: MilvusVectors) -> bool:
    try:
        return bool(best(index))
    except VectorsUnavailable:
        return False


def test_a_milvus_that_hangs_holds_nobody_up(tmp_path: Path) -> None:
    with MilvusServer(tmp_path / "milvus") as server:
        connection, feed = server.connection(30.0), VectorFeed(str(tmp_path), VECTORS)
        index = index_of(connection, tmp_path, feed)
        sync = copied(feed, index)
        feed.changes.append(DocumentGone(51, 5))
        server.pause()
        started = time.monotonic()
        sync.sync(51)
        assert time.monotonic() - started < 25  # not the 30 s that the connection waits
        with pytest.raises(VectorsUnavailable, match="lack the last changes, 1"):
            sync.check(51)
        server.resume()
        wait_until(lambda: not sync.behind(51))
        assert len(index) == 49
        sync.stop()
        connection.close()


def test_a_write_that_was_interrupted_is_applied_again(milvus: MilvusServer, tmp_path: Path) -> None:
    connection, feed = milvus.connection(), VectorFeed(str(tmp_path), VECTORS)
    index = index_of(connection, tmp_path, feed)
    index.apply(feed.changes[:30], 30)
    index._write_rows(index.alias, feed.changes[30:40])  # its process was killed before it wrote the revision
    again = index_of(connection, tmp_path, feed)
    assert again.revision == 30
    copied(feed, again)
    assert (len(again), again.revision) == (50, 50)
    connection.close()


def test_of_two_processes_one_writes_and_both_find(milvus: MilvusServer, tmp_path: Path) -> None:
    first, second, feed = milvus.connection(), milvus.connection(), VectorFeed(str(tmp_path), VECTORS)
    one, other = index_of(first, tmp_path, feed), index_of(second, tmp_path, feed)
    one.apply(feed.changes, 50)
    other.apply([VectorPut(50, 5, VECTORS[9])], 50)  # not written, since the collection is at 50
    assert (best(one), best(other)) == ([5], [5])
    with hold(tmp_path / "claims", f"milvus {one.alias}"), pytest.raises(VectorsUnavailable, match="another process"):
        one.apply([DocumentGone(51, 5)], 51)
    for connection in (first, second):
        connection.close()


def test_lost_vectors_are_copied_again(milvus: MilvusServer, tmp_path: Path) -> None:
    connection, feed = milvus.connection(), VectorFeed(str(tmp_path), VECTORS)
    index = index_of(connection, tmp_path, feed)
    sync = copied(feed, index)
    name = connection.call("describe_alias", index.alias)["collection_name"]
    connection.call("drop_alias", index.alias)
    connection.call("drop_collection", name)
    with pytest.raises(VectorsUnavailable, match="lost"):
        best(index)
    sync.follow()
    wait_until(lambda: _answers(index) and len(index) == 50)
    sync.stop()  # its thread may still hold the claim
    index.rebuild()
    assert (best(index), len(index), index.revision) == ([5], 50, 50)
    assert np.isnan(index.cosines(VECTORS[:1], np.array([999]))).all()
    connection.close()


def test_a_later_state_is_replaced_and_not_searched(milvus: MilvusServer, tmp_path: Path) -> None:
    connection, feed = milvus.connection(), VectorFeed(str(tmp_path), VECTORS)
    copied(feed, index_of(connection, tmp_path, feed))
    restored = VectorFeed(str(tmp_path), VECTORS[:20])
    other = index_of(connection, tmp_path, restored)
    assert other.revision == 0
    with pytest.raises(VectorsUnavailable, match="a later state of the catalog"):
        best(other)
    copied(restored, other)
    assert (len(other), other.revision, best(other)) == (20, 20, [5])
    assert np.isnan(other.cosines(VECTORS[:1], np.array([21]))).all()
    assert MilvusCollections(connection, str(tmp_path), partial(hold, tmp_path / "claims")).unused(["space"]) == []
    connection.close()


def test_a_process_that_only_reads_writes_nothing(milvus: MilvusServer, tmp_path: Path) -> None:
    connection, feed = milvus.connection(), VectorFeed(str(tmp_path), VECTORS)
    copied(feed, index_of(connection, tmp_path, feed))
    behind = VectorFeed(str(tmp_path), VECTORS[:20])
    reader = index_of(connection, tmp_path, behind, writes=False)
    assert (reader.revision, best(reader)) == (50, [5])
    with pytest.raises(VectorsUnavailable, match="another process"):
        reader.apply([DocumentGone(60, 5)], 60)
    assert len(reader) == 50
    connection.close()
