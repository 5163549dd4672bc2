"""Searches the vectors of one space in PostgreSQL, with pgvector."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from registry.database.counts import vectors_in
from registry.database.dialect import literal
from registry.db import Database, DatabaseError, DatabaseUnusable, Row
from search.fusion import MINILM, NullDistribution, null_distribution
from search.types import DocumentGone, Keys, Match, VectorPut
from search.vectors.base import VectorsUnavailable

_MAX_DIMENSION = 4000
"""The largest dimension of `halfvec` that pgvector indexes."""

_MAX_EF_SEARCH = 1000
"""The maximum of pgvector's `hnsw.ef_search`."""

_SAMPLE = 256

_OVERFETCH = 1.5
"""The factor for the number of documents requested from the index, if the filter passes every n-th document."""

_COMPARISONS_PER_HIT = 6
"""How many vectors an exhaustive search compares while the index finds one hit: measured 5 to 6."""


class PgVectors:
    """`search.vectors.VectorIndex` over the table of vectors, so that a replica holds no vectors in memory.

    A committed vector is searchable, so there is nothing to sync and nothing to save. A search uses the HNSW index if
    `hnsw_indexes` has built one, and compares all vectors otherwise. The HNSW index ignores filters. So a filtered
    search either requests more hits than needed from the index or compares all allowed vectors, whichever is faster;
    it also compares them if the index returned too few hits. `make_ready` starts the build of a missing index and
    returns whether the index exists.
    """

    is_remote = True

    def __init__(self, database: Database, space: str, dim: int, make_ready: Callable[[str, int], bool]) -> None:
        if dim > _MAX_DIMENSION:
            raise DatabaseUnusable(
                f"the database cannot search vectors of {dim} dimensions, only up to {_MAX_DIMENSION}:"
                " set embedding.dimension, or search.vectors = memory"
            )
        self.space = space
        self._database = database
        self._dim = dim
        self._make_ready = make_ready
        self._counted = (-1, 0)
        self._counted_exactly = (-1, 0)
        self._measured = (0, MINILM)

    @property
    def revision(self) -> int:
        """The revision of the catalog: the database finds every committed change."""
        return int(self._read("select value from counter")[0][0])

    def _read(self, sql: str, *parameters: object) -> list[Row]:
        try:
            return self._database.read(sql, parameters)
        except DatabaseError as error:
            raise VectorsUnavailable(f"cannot search the vectors in the database: {error}") from error

    def __len__(self) -> int:
        return int(
            self._read("select coalesce(sum(value), 0) from counts where name = ?", vectors_in(self.space))[0][0]
        )

    def count_at(self, revision: int) -> int:
        """Return the number of vectors at a revision of the catalog, or at a later one; read once for each revision."""
        counted_at, count = self._counted_exactly
        if counted_at != revision:
            self._counted_exactly = (revision, count := len(self))
        return count

    def _approximate_count(self) -> int:
        """Return the number of vectors. It is counted again after changes of more than a fifth of them."""
        counted_at, count = self._counted
        number = self.revision
        if counted_at < 0 or number - counted_at > count / 5:
            self._counted = (number, count := len(self))
        return count

    def apply(self, changes: Sequence[VectorPut | DocumentGone], revision: int) -> None:
        """Do nothing, since the database has every committed vector."""

    def is_ready(self) -> bool:
        """Return whether the space can be searched quickly. If not, start the build of its index."""
        return self._make_ready(self.space, self._dim)

    def save(self) -> None:
        """Do nothing, since the database stores the vectors."""

    def search(self, vectors: Matrix, limit: int, allowed: Keys | None = None) -> Match:
        """Return the `limit` documents nearest to each of the vectors, shape (queries, dim), by cosine.

        The hits of the first vector come first, best first. A document may occur once for every vector. `allowed`
        restricts the hits to these keys. Raises VectorsUnavailable.
        """
        if allowed is None:
            return Match.joined(self._nearest(vectors, limit))
        if not len(allowed):
            return Match.empty()
        needed = min(limit, len(allowed))
        requested = int(_OVERFETCH * needed * max(self._approximate_count() / len(allowed), 1.0)) + 1
        if len(allowed) > _COMPARISONS_PER_HIT * requested:
            matches = [match.only(allowed).first(limit) for match in self._nearest(vectors, requested)]
            if all(len(match.keys) >= needed for match in matches):
                return Match.joined(matches)
        return Match.joined(self._exhaustive(vectors, limit, allowed))

    def _nearest(self, vectors: Matrix, limit: int) -> list[Match]:
        """Return the nearest documents to each vector, through the index if there is one.

        A plain scan with `ef_search` of at least `limit` is faster than an iterative scan, which keeps every vector it
        visits. But it may return fewer hits, since the index holds rows deleted or changed since the last vacuum.
        """
        if limit <= _MAX_EF_SEARCH:
            ef_search = f"greatest(current_setting('hnsw.ef_search')::integer, {limit})::varchar"
            matches = self._scan(vectors, limit, f"set_config('hnsw.ef_search', {ef_search}, true)")
            if all(len(match.keys) == limit for match in matches) or self._approximate_count() <= limit:
                return matches
        return self._scan(vectors, limit, "set_config('hnsw.iterative_scan', 'relaxed_order', true)")

    def _scan(self, vectors: Matrix, limit: int, setting: str) -> list[Match]:
        # Must match the expression of the index, or PostgreSQL does not use the index.
        distance = f"v.vector::halfvec({self._dim}) <#> q.vector"
        # The setting applies to this statement only. It takes effect before the scan, which needs the row it is in.
        sql = (
            f"select q.place, f.key, f.score from (values {_values(vectors, setting)}) q (place, vector)"
            f" cross join lateral (select v.key, -({distance}) as score from vectors v"
            f" where v.space = {literal(self.space)} order by {distance} limit {limit}) f"
        )
        return _by_position(self._read(sql, *vectors), len(vectors))

    def _exhaustive(self, vectors: Matrix, limit: int, allowed: Keys) -> list[Match]:
        """Return the nearest allowed documents to each vector, by comparing all of them."""
        sql = (
            f"select q.place, f.key, f.score from (values {_values(vectors)}) q (place, vector) cross join lateral"
            " (select v.key, -(v.vector <#> q.vector) as score from vectors v where v.space = ?"
            f" and v.key = any (?::bigint[]) order by score desc limit {limit}) f"
        )
        return _by_position(self._read(sql, *vectors, self.space, allowed.tolist()), len(vectors))

    def cosines(self, vectors: Matrix, keys: Keys) -> NDArray[np.float32]:
        """Return each document's greatest cosine with any of `vectors`, NaN without a vector; shape (len(keys),).

        Raises VectorsUnavailable.
        """
        sql = (
            f"select v.key, max(-(v.vector <#> q.vector)) from (values {_values(vectors)}) q (place, vector), vectors v"
            " where v.space = ? and v.key = any (?::bigint[]) group by v.key"
        )
        rows = self._read(sql, *vectors, self.space, keys.tolist()) if len(keys) else []
        cosines: dict[int, float] = dict(rows)
        return np.fromiter((cosines.get(key, np.nan) for key in keys.tolist()), np.float32, len(keys))

    def null_distribution(self) -> NullDistribution:
        """Return the distribution of cosines of unrelated documents. It is measured again when the size changes much.

        Raises VectorsUnavailable.
        """
        count = self._approximate_count()
        if not 0.8 < count / max(self._measured[0], 1) < 1.25:
            self._measured = (count, null_distribution(self._sample()))
        return self._measured[1]

    def _sample(self) -> Matrix:
        """Return at most 256 vectors, evenly spread over the keys; shape (vectors, dim)."""
        sql = (
            "select distinct on (v.key) v.vector from"
            " (select min(key) as low, max(key) as high from vectors where space = ?) b,"
            f" generate_series(0, {_SAMPLE - 1}) n cross join lateral (select key, vector from vectors"
            f" where space = ? and key >= b.low + (b.high - b.low) * n / {_SAMPLE - 1} order by key limit 1) v"
            " order by v.key"
        )
        rows = self._read(sql, self.space, self.space)
        return np.array([np.frombuffer(vector, np.float32) for (vector,) in rows]).reshape(len(rows), self._dim)


def _values(vectors: Matrix, *more: str) -> str:
    return ", ".join(f"({', '.join((str(position), '?::halfvec', *more))})" for position in range(len(vectors)))


def _by_position(rows: Iterable[Row], count: int) -> list[Match]:
    """Return the hits of each of `count` vectors, best first, since the order of the index is only approximate."""
    hits: list[list[tuple[float, int]]] = [[] for _ in range(count)]
    for position, key, score in rows:
        hits[position].append((-score, key))
    return [
        Match(np.array([key for _, key in ranked], np.int64), np.array([-score for score, _ in ranked], np.float32))
        for ranked in map(sorted, hits)
    ]
