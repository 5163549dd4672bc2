"""Searches the vectors of one space in Milvus."""

import logging
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix, Vector
from registry.milvus.collections import Claim, alias_of, new_collection_name
from registry.milvus.connection import SLOW_SECONDS, MilvusConnection
from search.fusion import MINILM, NullDistribution, null_distribution
from search.types import DocumentGone, Keys, Match, VectorPut
from search.vectors.base import VectorsUnavailable

_log = logging.getLogger("registry.milvus")

_MARK = -1
"""The key of the row that holds the revision of the collection. Its vector is zero, so that it is near to nothing."""

_LOTS = 1 << 16
_SAMPLE = 256
_MAX_LIMIT = 16_384
"""The most hits of one search in Milvus."""

_MAX_KEYS = 5000
"""The most keys in one expression: they are part of its text."""

_BATCH_BYTES = 4 << 20
_WAIT_SECONDS = 2.0
_POLL_SECONDS = 0.05
_STRONG: dict[str, Any] = {"consistency_level": "Strong"}

Changes = Sequence[VectorPut | DocumentGone]


class Feed(Protocol):
    """What the index reads of its catalog: a part of `search.types.Documents`."""

    @property
    def catalog_id(self) -> str:
        """The random id of the catalog."""
        ...

    def revision(self) -> int:
        """Return the revision of the latest change."""
        ...

    def vector_changes(self, space: str, since: int, limit: int) -> Changes:
        """Return at most `limit` changes to the vectors of `space` after revision `since`, in order."""
        ...


class MilvusVectors:
    """`search.vectors.VectorIndex` in Milvus: one collection for each space of a catalog, behind an alias.

    The catalog has all vectors too, so a lost collection is filled again. The collection holds the revision that it has
    reached, written after the changes: what a crash interrupts is applied again. Of all processes, the one with the
    claim writes; the others wait until the collection has what they need. Reads are strongly consistent.

    A collection that is ahead of the catalog has changes that the catalog lost when an older state was restored. It is
    never searched, and is replaced with the first change that is applied. A process without a `claim` writes nothing,
    and its catalog may be behind.
    """

    is_remote = True

    def __init__(
        self,
        milvus: MilvusConnection,
        feed: Feed,
        space: str,
        dim: int,
        claim: Claim | None,
        index_type: str = "AUTOINDEX",
    ) -> None:
        self.space = space
        self.alias = alias_of(feed.catalog_id, space)
        self._milvus = milvus
        self._feed = feed
        self._dim = dim
        self._claim = claim
        self._index_type = index_type
        self._reached: int | None = None
        self._is_ahead = False
        self._counted = (-1, 0)
        self._measured = (0, MINILM)

    @property
    def revision(self) -> int:
        """The revision that the collection has reached, as far as this process knows. Raises VectorsUnavailable."""
        return self._read_mark() if self._reached is None else self._reached

    def stored_revision(self) -> int:
        """Return the revision in the collection, 0 if there is none. Raises VectorsUnavailable."""
        rows = self._call("query", ids=[_MARK], output_fields=["revision"], **_STRONG)
        return int(rows[0]["revision"]) if rows else 0

    def _read_mark(self) -> int:
        """Read the revision of the collection: 0 if there is none, or if it is ahead of the catalog."""
        stored = self.stored_revision()
        latest = self._feed.revision()  # read later, so no change of another process is in the collection only
        is_ahead = stored > latest and self._claim is not None
        if is_ahead and not self._is_ahead:
            text = "Milvus holds change %d, but the catalog has only %d: an older one was restored, and is copied again"
            _log.warning(text, stored, latest)
        self._is_ahead, self._reached = is_ahead, 0 if is_ahead else stored
        return self._reached

    def _call(self, method: str, **options: Any) -> Any:
        """Return the result of a call for the collection, None if it does not exist."""
        return self._milvus.call(method, self.alias, **options)

    def _answer(self, method: str, **options: Any) -> Any:
        """Return the result of a read. Raises VectorsUnavailable if the collection was lost."""
        result = self._call(method, **options, **_STRONG)
        if result is None and self._reached:
            self._reached = None
            raise VectorsUnavailable("Milvus has lost the vectors, which are copied to it again")
        if self._is_ahead:
            raise VectorsUnavailable("Milvus has the vectors of a later state of the catalog")
        return result or []

    def __len__(self) -> int:
        rows = self._answer("query", filter="", output_fields=["count(*)"])
        return max(0, int(rows[0]["count(*)"]) - 1) if rows else 0

    def count_at(self, revision: int) -> int:
        """Return the number of vectors at a revision of the catalog, or at a later one; read once for each revision."""
        counted_at, count = self._counted
        if counted_at != revision:
            self._counted = (revision, count := len(self))
        return count

    def apply(self, changes: Changes, revision: int) -> None:
        """Apply `changes`, unless another process has. Raises VectorsUnavailable if another one writes for too long."""
        before, deadline = self.revision, time.monotonic() + _WAIT_SECONDS
        while self._read_mark() < revision:
            with self._claimed() as is_mine:
                if is_mine:
                    return self._write(changes, before, revision)
            if time.monotonic() > deadline:
                raise VectorsUnavailable("another process is copying vectors to Milvus")
            time.sleep(_POLL_SECONDS)
        return None

    def _claimed(self) -> AbstractContextManager[bool]:
        return nullcontext(False) if self._claim is None else self._claim(f"milvus {self.alias}")

    def _write(self, changes: Changes, before: int, revision: int) -> None:
        mark = self._read_mark()
        if mark < before or mark >= revision:  # an older state was restored, and the caller reads on; or all is there
            return
        if self._is_ahead:
            self._replace(self._create_collection())
        elif self._milvus.call("describe_alias", self.alias) is None:
            self._milvus.call("create_alias", self._create_collection(), self.alias)
        self._write_rows(self.alias, [change for change in changes if change.revision > mark])
        self._write_mark(self.alias, revision)
        self._reached = revision

    def _write_rows(self, name: str, changes: Changes) -> None:
        latest = {change.key: change for change in changes}
        puts = [change for change in latest.values() if isinstance(change, VectorPut)]
        gone = [change.key for change in latest.values() if isinstance(change, DocumentGone)]
        size = max(1, _BATCH_BYTES // (4 * self._dim))
        for start in range(0, len(puts), size):
            rows = [self._row(put.key, put.revision, put.vector) for put in puts[start : start + size]]
            self._milvus.call("upsert", name, data=rows, seconds=SLOW_SECONDS)
        for start in range(0, len(gone), _MAX_KEYS):
            self._milvus.call("delete", name, ids=gone[start : start + _MAX_KEYS], seconds=SLOW_SECONDS)

    def _row(self, key: int, revision: int, vector: Matrix) -> dict[str, Any]:
        lot = _LOTS if key == _MARK else (key * 2_654_435_761 & 0xFFFF_FFFF) >> 16
        return {"key": key, "revision": revision, "lot": lot, "vector": np.asarray(vector, np.float32)}

    def _write_mark(self, name: str, revision: int) -> None:
        row = self._row(_MARK, revision, np.zeros(self._dim, np.float32))
        self._milvus.call("upsert", name, data=[row], seconds=SLOW_SECONDS)

    def _create_collection(self) -> str:
        """Create an empty collection with its index, and return its name."""
        library, name = self._milvus.library, new_collection_name(self.alias)
        schema = library.MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("key", library.DataType.INT64, is_primary=True)
        schema.add_field("revision", library.DataType.INT64)
        schema.add_field("lot", library.DataType.INT64)
        schema.add_field("vector", library.DataType.FLOAT_VECTOR, dim=self._dim)
        index = library.MilvusClient.prepare_index_params()
        index.add_index("vector", index_type=self._index_type, metric_type="IP")
        options: dict[str, Any] = {"schema": schema, "index_params": index, "seconds": SLOW_SECONDS}
        self._milvus.call("create_collection", name, **options, **_STRONG)
        self._write_mark(name, 0)
        _log.info("created the collection %s of the space %s in Milvus", name, self.space)
        return name

    def rebuild(self) -> None:
        """Fill a new collection and switch the alias to it; searches use the old one meanwhile.

        Raises VectorsUnavailable.
        """
        with self._claimed() as is_mine:
            if not is_mine:
                raise VectorsUnavailable("another process is copying vectors to Milvus")
            name, reached = self._create_collection(), 0
            while page := self._feed.vector_changes(self.space, reached, _MAX_KEYS):
                self._write_rows(name, page)
                reached = page[-1].revision
            self._write_mark(name, reached)
            self._replace(name)

    def _replace(self, name: str) -> None:
        """Switch the alias to another collection, and remove the one before."""
        old = self._milvus.call("describe_alias", self.alias)
        self._milvus.call("alter_alias" if old else "create_alias", name, self.alias)
        if old:
            self._milvus.call("drop_collection", old["collection_name"], seconds=SLOW_SECONDS)
        self._reached, self._is_ahead, self._counted = None, False, (-1, 0)

    def is_ready(self) -> bool:
        """Return true: Milvus builds its index by itself, and compares vectors that have none."""
        return True

    def save(self) -> None:
        """Do nothing, since Milvus stores the vectors."""

    def search(self, vectors: Matrix, limit: int, allowed: Keys | None = None) -> Match:
        """Return the `limit` documents nearest to each of the vectors, shape (queries, dim), by cosine.

        The hits of the first vector come first, best first. A document may occur once for every vector. `allowed`
        restricts the hits to these keys. Raises VectorsUnavailable.
        """
        if allowed is None:
            return Match.joined([match.first(limit) for match in self._nearest(vectors, limit)])
        needed = min(limit, len(allowed))
        if len(allowed) > _MAX_KEYS:
            requested = int(1.5 * limit * max(self._counted[1] / len(allowed), 1.0)) + 1
            matches = [match.only(allowed).first(limit) for match in self._nearest(vectors, requested)]
            if all(len(match.keys) >= needed for match in matches):
                return Match.joined(matches)
        nearest: list[list[Match]] = [[Match.empty()] for _ in vectors]
        for start in range(0, len(allowed), _MAX_KEYS):
            keys = allowed[start : start + _MAX_KEYS]
            for matches_of, match in zip(nearest, self._nearest(vectors, needed, _among(keys)), strict=True):
                matches_of.append(match)
        return Match.joined([Match.joined(matches_of).best(limit) for matches_of in nearest])

    def _nearest(self, vectors: Matrix, limit: int, expression: str = "") -> list[Match]:
        options: dict[str, Any] = {
            "data": list(np.asarray(vectors, np.float32)),
            "filter": expression,
            "output_fields": ["key"],
        }
        options |= {"limit": min(limit + 1, _MAX_LIMIT), "search_params": {"metric_type": "IP"}}
        hits = self._answer("search", **options)
        return [_match(list(each)) for each in hits] if hits else [Match.empty() for _ in vectors]

    def cosines(self, vectors: Matrix, keys: Keys) -> NDArray[np.float32]:
        """Return each document's greatest cosine with any of `vectors`, NaN without a vector; shape (len(keys),).

        Raises VectorsUnavailable.
        """
        cosines: dict[int, float] = {}
        for start in range(0, len(keys), _MAX_KEYS):
            if stored := self.stored(keys[start : start + _MAX_KEYS].tolist()):
                best = (np.array(list(stored.values())) @ vectors.T).max(axis=1)
                cosines.update(zip(stored, best.tolist(), strict=True))
        return np.fromiter((cosines.get(key, np.nan) for key in keys.tolist()), np.float32, len(keys))

    def stored(self, keys: Sequence[int]) -> dict[int, Vector]:
        """Return the stored vectors of these keys, at most 5,000. Raises VectorsUnavailable."""
        rows = self._answer("query", filter=_among(keys), output_fields=["key", "vector"])
        return {row["key"]: np.array(row["vector"], np.float32) for row in rows}

    def revisions(self, after: int, until: int | None = None) -> dict[int, int]:
        """Return the revisions of the vectors by key, above `after` and up to `until`: at most 16,384.

        Raises VectorsUnavailable.
        """
        end = "" if until is None else f" and key <= {until}"
        options: dict[str, Any] = {"output_fields": ["key", "revision"], "limit": _MAX_LIMIT, "seconds": SLOW_SECONDS}
        rows = self._answer("query", filter=f"key > {after}{end}", **options)
        return {row["key"]: int(row["revision"]) for row in rows}

    def null_distribution(self) -> NullDistribution:
        """Return the distribution of cosines of unrelated documents. It is measured again when the size changes much.

        Raises VectorsUnavailable.
        """
        count = self._counted[1] or len(self)
        if not 0.8 < count / max(self._measured[0], 1) < 1.25:
            share = min(_LOTS, int(1.2 * _SAMPLE * _LOTS / max(count, 1)) + 1)
            rows = self._answer("query", filter=f"lot < {share}", output_fields=["vector"], limit=_SAMPLE)
            sample = np.array([row["vector"] for row in rows], np.float32).reshape(len(rows), self._dim)
            self._measured = (count, null_distribution(sample))
        return self._measured[1]


def _among(keys: Keys | Sequence[int]) -> str:
    return f"key in [{','.join(str(int(key)) for key in keys)}]"


def _match(hits: Sequence[dict[str, Any]]) -> Match:
    neighbours = [hit for hit in hits if hit["key"] != _MARK]
    keys, scores = [hit["key"] for hit in neighbours], [hit["distance"] for hit in neighbours]
    return Match(np.array(keys, np.int64), np.array(scores, np.float32))
