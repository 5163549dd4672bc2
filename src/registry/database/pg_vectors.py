"""The vectors of one space searched where they are kept: in PostgreSQL, by pgvector."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix
from registry.database.dialect import literal
from registry.db import Database, DatabaseError, DatabaseUnusable, Row
from search.fusion import MINILM, NullDistribution, null_distribution
from search.types import DocumentGone, Keys, Match, VectorPut
from search.vectors.base import VectorsUnavailable

_LARGEST_DIMENSION = 4000
"""What pgvector indexes of `halfvec`."""

_WIDEST = 1000
"""The most that pgvector's `hnsw.ef_search` may be."""

_SAMPLE = 256

_SPARE = 1.5
"""How many times more documents are asked of the graph than would be enough if the filter let every n-th through."""

_COMPARED_PER_FOUND = 6
"""How many vectors are compared one by one in the time in which the graph finds one: measured 5 to 6."""


class PgVectors:
    """`search.vectors.VectorIndex` over the table of vectors itself, so that a replica holds none.

    What is committed is found, so there is nothing to follow and nothing to save. The nearest are found through an HNSW
    graph where `hnsw_indexes` has built one, else by looking at all. A graph is blind to filters: it is
    asked for more than is wanted, or the vectors allowed are compared one by one, whichever is quicker; the
    latter too where it turns out to have found too few. `make_ready` sees to the graph of a space, and says whether it
    is there.
    """

    is_remote = True

    def __init__(self, database: Database, space: str, dim: int, make_ready: Callable[[str, int], bool]) -> None:
        if dim > _LARGEST_DIMENSION:
            raise DatabaseUnusable(
                f"vectors of {dim} dimensions cannot be searched in the database, which takes {_LARGEST_DIMENSION}:"
                " choose embedding.dimension, or search.vectors = memory"
            )
        self.space = space
        self._database = database
        self._dim = dim
        self._make_ready = make_ready
        self._counted = (-1, 0)
        self._measured = (0, MINILM)

    @property
    def revision(self) -> int:
        """The revision of the catalog: the database finds every committed change."""
        return int(self._read("select value from counter")[0][0])

    def _read(self, sql: str, *parameters: object) -> list[Row]:
        try:
            return self._database.read(sql, parameters)
        except DatabaseError as error:
            raise VectorsUnavailable(f"the vectors could not be searched in the database: {error}") from error

    def __len__(self) -> int:
        return int(self._read("select count(*) from vectors where space = ?", self.space)[0][0])

    def _about(self) -> int:
        """Return how many vectors there are, or were when a fifth of them at most had changed since."""
        at, count = self._counted
        number = self.revision
        if at < 0 or number - at > count / 5:
            self._counted = (number, count := len(self))
        return count

    def apply(self, changes: Sequence[VectorPut | DocumentGone], revision: int) -> None:
        """Do nothing: the database has what was committed."""

    def is_ready(self) -> bool:
        """Return whether the space can be searched quickly, and see to it where it cannot."""
        return self._make_ready(self.space, self._dim)

    def save(self) -> None:
        """Do nothing: the database keeps its vectors."""

    def search(self, vectors: Matrix, limit: int, allowed: Keys | None = None) -> Match:
        """Return the `limit` documents nearest to each of the vectors, shape (queries, dim), by cosine.

        Those of the first vector come first, best first; a document may be there once for every vector. With
        `allowed` only these keys are found. Raises VectorsUnavailable.
        """
        if allowed is None:
            return _joined(self._nearest(vectors, limit))
        if not len(allowed):
            return Match.empty()
        wanted = min(limit, len(allowed))
        asked = int(_SPARE * wanted * max(self._about() / len(allowed), 1.0)) + 1
        if len(allowed) > _COMPARED_PER_FOUND * asked:
            found = [_only(allowed, one, limit) for one in self._nearest(vectors, asked)]
            if all(len(one.keys) >= wanted for one in found):
                return _joined(found)
        return _joined(self._compared(vectors, limit, allowed))

    def _nearest(self, vectors: Matrix, limit: int) -> list[Match]:
        """Return what is nearest to each vector, as the graph finds it if there is one.

        One walk that follows as many of the best as are wanted takes less time than one that can go on, which keeps
        all it passes. But it may bring fewer: what was deleted or changed since the last vacuum is still in the graph.
        """
        if limit <= _WIDEST:
            widest = f"greatest(current_setting('hnsw.ef_search')::integer, {limit})::varchar"
            found = self._walked(vectors, limit, f"set_config('hnsw.ef_search', {widest}, true)")
            if all(len(one.keys) == limit for one in found) or self._about() <= limit:
                return found
        return self._walked(vectors, limit, "set_config('hnsw.iterative_scan', 'relaxed_order', true)")

    def _walked(self, vectors: Matrix, limit: int, how: str) -> list[Match]:
        # Written as the graph's index is, or PostgreSQL does not see that it may use it.
        distance = f"v.vector::halfvec({self._dim}) <#> q.vector"
        # What is set counts in this statement only, and before the scan begins, which needs the row that it stands in.
        sql = (
            f"select q.place, f.key, f.score from (values {_places(vectors, how)}) q (place, vector)"
            f" cross join lateral (select v.key, -({distance}) as score from vectors v"
            f" where v.space = {literal(self.space)} order by {distance} limit {limit}) f"
        )
        return _by_place(self._read(sql, *vectors), len(vectors))

    def _compared(self, vectors: Matrix, limit: int, allowed: Keys) -> list[Match]:
        """Return which of the allowed documents are nearest to each vector, by comparing all of them."""
        sql = (
            f"select q.place, f.key, f.score from (values {_places(vectors)}) q (place, vector) cross join lateral"
            " (select v.key, -(v.vector <#> q.vector) as score from vectors v where v.space = ?"
            f" and v.key = any (?::bigint[]) order by score desc limit {limit}) f"
        )
        return _by_place(self._read(sql, *vectors, self.space, allowed.tolist()), len(vectors))

    def cosines(self, vectors: Matrix, keys: Keys) -> NDArray[np.float32]:
        """Return each document's greatest cosine with any of `vectors`, NaN where it has none; shape (len(keys),).

        Raises VectorsUnavailable.
        """
        sql = (
            f"select v.key, max(-(v.vector <#> q.vector)) from (values {_places(vectors)}) q (place, vector), vectors v"
            " where v.space = ? and v.key = any (?::bigint[]) group by v.key"
        )
        rows = self._read(sql, *vectors, self.space, keys.tolist()) if len(keys) else []
        cosines: dict[int, float] = dict(rows)
        return np.fromiter((cosines.get(key, np.nan) for key in keys.tolist()), np.float32, len(keys))

    def null_distribution(self) -> NullDistribution:
        """Return the cosine of unrelated documents, measured again when the index has grown or shrunk by a fifth.

        Raises VectorsUnavailable.
        """
        count = self._about()
        if not 0.8 < count / max(self._measured[0], 1) < 1.25:
            self._measured = (count, null_distribution(self._sample()))
        return self._measured[1]

    def _sample(self) -> Matrix:
        """Return vectors evenly spread over the keys, at most 256; shape (vectors, dim)."""
        sql = (
            "select distinct on (v.key) v.vector from"
            " (select min(key) as low, max(key) as high from vectors where space = ?) b,"
            f" generate_series(0, {_SAMPLE - 1}) n cross join lateral (select key, vector from vectors"
            f" where space = ? and key >= b.low + (b.high - b.low) * n / {_SAMPLE - 1} order by key limit 1) v"
            " order by v.key"
        )
        rows = self._read(sql, self.space, self.space)
        return np.array([np.frombuffer(vector, np.float32) for (vector,) in rows]).reshape(len(rows), self._dim)


def _places(vectors: Matrix, *more: str) -> str:
    return ", ".join(f"({', '.join((str(place), '?::halfvec', *more))})" for place in range(len(vectors)))


def _by_place(rows: Iterable[Row], places: int) -> list[Match]:
    """Return what was found for each vector, best first: the graph's order is only nearly so."""
    hits: list[list[tuple[float, int]]] = [[] for _ in range(places)]
    for place, key, score in rows:
        hits[place].append((-score, key))
    return [
        Match(np.array([key for _, key in one], np.int64), np.array([-score for score, _ in one], np.float32))
        for one in map(sorted, hits)
    ]


def _only(allowed: Keys, found: Match, limit: int) -> Match:
    kept = np.flatnonzero(np.isin(found.keys, allowed))[:limit]
    return Match(found.keys[kept], found.scores[kept])


def _joined(found: Sequence[Match]) -> Match:
    return Match(np.concatenate([one.keys for one in found]), np.concatenate([one.scores for one in found]))
