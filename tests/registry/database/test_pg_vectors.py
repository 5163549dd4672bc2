"""Vector search in PostgreSQL: results under any filter, and the life of the HNSW indexes."""

import threading
from collections.abc import Iterator, Sequence

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from embeddings.base import Matrix
from registry.database.counts import rebuild
from registry.database.hnsw_indexes import HnswIndexes
from registry.database.pg_vectors import PgVectors
from registry.database.postgres import PostgresDatabase
from registry.db import DatabaseUnusable
from search.vectors.base import VectorsUnavailable
from support.postgres_server import PostgresServer
from support.waiting import PATIENCE_SECONDS

SPACE, DIM = "local/modèle?/16", 16


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[PostgresDatabase]:
    opened = PostgresDatabase(postgres.new_database())
    yield opened
    opened.close()


def units(drawn: NDArray[np.floating]) -> Matrix:
    vectors: Matrix = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return vectors


VECTORS = units(np.random.default_rng(7).normal(size=(50, DIM)))


def put(database: PostgresDatabase, keys: Sequence[int], vectors: Matrix, space: str = SPACE) -> None:
    with database.write() as transaction:
        last, rows = transaction.next_revision(len(keys)), []
        for number, (key, vector) in enumerate(zip(keys, vectors, strict=True), last - len(keys) + 1):
            rows.append((space, key, "hash", vector, number))
        transaction.execute_many(
            "insert into vectors (space, key, text_hash, vector, number) values (?, ?, ?, ?, ?)"
            " on conflict (space, key) do update set vector = excluded.vector, number = excluded.number",
            rows,
        )
        rebuild(transaction)


def delete(database: PostgresDatabase, keys: Sequence[int], space: str = SPACE) -> None:
    with database.write() as transaction:
        rows = [(space, int(key)) for key in keys]
        transaction.execute_many("delete from vectors where space = ? and key = ?", rows)
        rebuild(transaction)


def index_of(database: PostgresDatabase, space: str = SPACE, dim: int = DIM) -> PgVectors:
    return PgVectors(database, space, dim, lambda space, dim: True)


@pytest.fixture
def index(database: PostgresDatabase) -> PgVectors:
    put(database, range(0, 500, 10), VECTORS)
    put(database, range(50), VECTORS[::-1], "another")
    return index_of(database)


def nearest(vector: Matrix, limit: int) -> list[int]:
    keys: list[int] = (np.argsort(-(VECTORS @ vector[0]))[:limit] * 10).tolist()
    return keys


def test_the_nearest_documents_come_first_with_their_cosine(index: PgVectors) -> None:
    found = index.search(VECTORS[3:4], 5)
    assert found.keys.tolist() == nearest(VECTORS[3:4], 5)
    assert found.scores == pytest.approx((VECTORS @ VECTORS[3])[found.keys // 10], abs=2e-3)
    assert (len(index), index.count_at(100), index.revision) == (50, 50, 100)


def test_each_of_several_vectors_finds_its_nearest_documents(index: PgVectors) -> None:
    found = index.search(VECTORS[3:5], 4)
    assert found.keys.tolist() == nearest(VECTORS[3:4], 4) + nearest(VECTORS[4:5], 4)
    assert index.search(VECTORS[3:5], 2, np.array([40, 70])).keys.tolist() in ([40, 70, 40, 70], [70, 40, 40, 70])


def test_only_allowed_documents_are_found(index: PgVectors) -> None:
    assert index.search(VECTORS[3:4], 5, np.array([40, 999])).keys.tolist() == [40]
    assert index.search(VECTORS[3:4], 5, np.array([], np.int64)).keys.tolist() == []
    allowed = np.setdiff1d(np.arange(0, 500, 10), nearest(VECTORS[3:4], 2))
    assert index.search(VECTORS[3:4], 5, allowed).keys.tolist() == nearest(VECTORS[3:4], 7)[2:]


def test_changes_are_found_at_once_and_removed_documents_never(database: PostgresDatabase, index: PgVectors) -> None:
    put(database, [30], VECTORS[4:5])
    delete(database, [40])
    assert index.search(VECTORS[4:5], 1).keys.tolist() == [30]
    assert index.cosines(VECTORS[4:5], np.array([30]))[0] == pytest.approx(1.0, abs=2e-3)
    assert (len(index), index.count_at(index.revision)) == (49, 49)


def test_cosines_are_the_greatest_of_any_vector_and_nan_for_unknown_documents(index: PgVectors) -> None:
    cosines = index.cosines(VECTORS[:2], np.array([30, 5, 0, 10_000]))
    assert cosines[[0, 2]] == pytest.approx([max(VECTORS[:2] @ VECTORS[3]), 1.0], abs=2e-3)
    assert np.isnan(cosines[[1, 3]]).all()
    assert index.cosines(VECTORS[:1], np.array([], np.int64)).shape == (0,)


def test_the_null_distribution_is_measured_on_the_vectors(index: PgVectors) -> None:
    cosines = (VECTORS @ VECTORS.T)[np.triu_indices(50, 1)]
    assert index.null_distribution() == pytest.approx((cosines.mean(), cosines.std()), abs=1e-3)


def test_an_empty_index_finds_nothing(database: PostgresDatabase) -> None:
    index = index_of(database)
    assert index.search(VECTORS[:2], 5).keys.tolist() == []
    assert index.search(VECTORS[:2], 5, np.array([1])).keys.tolist() == []
    assert index.null_distribution().mean == pytest.approx(0.06)


def test_too_many_dimensions_are_refused(database: PostgresDatabase) -> None:
    with pytest.raises(DatabaseUnusable, match=r"vectors of 4096 dimensions.*search\.vectors = memory"):
        index_of(database, dim=4096)


def test_an_outage_is_reported(index: PgVectors, database: PostgresDatabase) -> None:
    database.close()
    for ask in (lambda: index.search(VECTORS[:1], 5), lambda: index.cosines(VECTORS[:1], np.array([1]))):
        with pytest.raises(VectorsUnavailable, match="cannot search the vectors in the database"):
            ask()


def clustered(count: int, dim: int = 64) -> Matrix:
    """Return vectors as skills have them: groups of many sizes round centres that are alike themselves."""
    drawn = np.random.default_rng(11)
    centres = units(drawn.normal(size=(300, dim)) + drawn.normal(size=dim) * 0.4)
    group = np.minimum(drawn.zipf(1.3, count) - 1, 299)
    return units(centres[group] + drawn.normal(size=(count, dim)) * 0.6 / np.sqrt(dim))


@pytest.fixture(scope="module")
def grown(postgres: PostgresServer) -> Iterator[tuple[PostgresDatabase, Matrix]]:
    """A space of 6,000 vectors with its graph, which is used though so few would be looked through as fast."""
    url = f"{postgres.new_database()}?options=-c%20enable_seqscan%3Doff%20-c%20enable_bitmapscan%3Doff"
    opened, vectors = PostgresDatabase(url), clustered(6_000)
    put(opened, range(6_000), vectors, "grown")
    HnswIndexes(opened, lambda: ["grown"], lambda: None).build("grown", 64)
    yield opened, vectors
    opened.close()


@pytest.mark.parametrize("share", [0.001, 0.01, 0.1, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("together", [False, True], ids=["anywhere", "alike"])
def test_a_filter_costs_no_recall(grown: tuple[PostgresDatabase, Matrix], share: float, together: bool) -> None:
    database, vectors = grown
    drawn, index = np.random.default_rng(5), index_of(database, "grown", 64)
    rank = vectors @ vectors[17] if together else drawn.random(len(vectors))
    allowed = np.argsort(-rank)[: int(share * len(vectors))]
    queries = units(vectors[drawn.integers(0, len(vectors), 40)] + drawn.normal(size=(40, 64)) * 0.06)
    hits = 0
    for query in queries:
        found = index.search(query[np.newaxis], 10, None if share == 1 else allowed)
        exact = allowed[np.argsort(-(vectors[allowed] @ query))[:10]]
        hits += len(np.intersect1d(found.keys[:10], exact))
    assert hits / (40 * min(10, len(allowed))) >= 0.95


@pytest.mark.parametrize("needed", [50, 300])
def test_documents_deleted_near_a_query_do_not_reduce_the_hits(
    grown: tuple[PostgresDatabase, Matrix], needed: int
) -> None:
    database, vectors = grown
    query = units(vectors[23:24] + 0.01)
    ranked = np.argsort(-(vectors @ query[0]))
    delete(database, ranked[:200].tolist(), "grown")  # until a vacuum the graph still leads to them
    try:
        found = index_of(database, "grown", 64).search(query, needed)
        assert len(found.keys) == needed
        assert len(np.intersect1d(found.keys, ranked[200 : 200 + needed])) >= 0.9 * needed
    finally:
        put(database, ranked[:200].tolist(), vectors[ranked[:200]], "grown")


class Explaining:
    """A database that keeps the plans of what is read from it."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self.plan = ""

    def read(self, sql: str, parameters: Sequence[object]) -> list[tuple[object, ...]]:
        self.plan = "\n".join(row[0] for row in self._database.read(f"explain {sql}", parameters))
        return self._database.read(sql, parameters)


def test_the_index_is_used_where_it_is_faster(grown: tuple[PostgresDatabase, Matrix]) -> None:
    explained, everything = Explaining(grown[0]), np.arange(6_000)
    index = PgVectors(explained, "grown", 64, lambda space, dim: True)  # type: ignore[arg-type]  # it only reads
    for allowed, expected in ((None, True), (everything[:5_900], True), (everything[:50], False)):
        index.search(grown[1][:2], 50, allowed)
        assert ("Index Scan using vectors_hnsw_" in explained.plan) == expected


def names(database: PostgresDatabase) -> list[tuple[str, bool]]:
    return database.read(
        "select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid"
        " where starts_with(c.relname::text, 'vectors_hnsw_')"
    )


def test_indexes_are_built_for_large_spaces_and_removed_with_their_space(database: PostgresDatabase) -> None:
    built, spaces = threading.Event(), ["large", "small"]
    put(database, range(300), clustered(300, 8), "large")
    put(database, range(100), VECTORS[:, :8].repeat(2, 0), "small")
    indexes = HnswIndexes(database, lambda: spaces, built.set, min_vectors=200)
    assert indexes.is_ready("small", 8)
    assert not indexes.is_ready("large", 8)
    assert built.wait(PATIENCE_SECONDS)
    assert indexes.is_ready("large", 8)
    assert [whole for _, whole in names(database)] == [True]
    spaces.remove("large")
    built.clear()
    assert indexes.is_ready("small", 8)
    assert built.wait(PATIENCE_SECONDS)
    assert names(database) == []
    indexes.stop()


def test_an_incomplete_index_is_built_again(database: PostgresDatabase) -> None:
    put(database, range(300), clustered(300, 8), "large")
    indexes = HnswIndexes(database, lambda: ["large"], lambda: None, min_vectors=200)
    indexes.build("large", 8)
    with database.connect() as connection:  # as a crash leaves it
        connection.execute(
            "update pg_index set indisvalid = false where indexrelid::regclass::text like 'vectors_hnsw%%'"
        )
    assert [whole for _, whole in names(database)] == [False]
    indexes.build("large", 8)
    assert [whole for _, whole in names(database)] == [True]


def test_an_index_with_the_parameters_of_another_release_is_replaced(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(database, range(300), clustered(300, 8), "large")
    indexes = HnswIndexes(database, lambda: ["large"], lambda: None, min_vectors=200)
    indexes.build("large", 8)
    before = names(database)
    monkeypatch.setattr("registry.database.hnsw_indexes.M", 8)
    assert not indexes.is_ready("large", 8)
    indexes.build("large", 8)
    ((after, is_whole),) = names(database)
    assert is_whole
    assert [(after, is_whole)] != before
    indexes.stop()


def test_stop_cancels_a_build(database: PostgresDatabase) -> None:
    put(database, range(300), clustered(300, 8), "large")
    with psycopg.connect(**database._options) as other:
        other.execute("begin")
        other.execute("lock table vectors in share update exclusive mode")  # no build gets past this
        indexes = HnswIndexes(database, lambda: ["large"], lambda: None, min_vectors=200)
        assert not indexes.is_ready("large", 8)
        indexes.stop()
        assert names(database) == []
