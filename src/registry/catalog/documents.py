"""The documents that search indexes, written in the transactions of the catalog: `search.types.Documents`."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from registry.catalog.document_rows import DOCUMENT_COLUMNS, LABEL_RECIPE, add_missing_labels, document_of
from registry.database.counts import (
    DOCUMENTS,
    count_dropped,
    count_forgotten,
    current_in,
    rebuild,
    stale_total,
    total,
    vectors_in,
)
from registry.db import Database, Transaction, read_fact
from search.text import EMBEDDING_RECIPE, embedded_text, vector_hash
from search.types import Claimed, Document, DocumentGone, DocumentPut, Embedded, Stale, VectorPut

_BACKFILL_FACT = "filling"
"""The fact that names the space of the current backfill (`skill-registry admin embed`)."""

_BLOCK = 256
"""The number of keys that are claimed together: the size of an embedding batch."""

_VECTORS_PER_WRITE = 64
"""Small, because an HNSW index makes each insert slow and other writers wait for the transaction."""


_AT_ONCE = 5_000
"""Cards that one statement reads. A database takes some ten thousands of parameters."""


class CatalogDocuments:
    """`search.types.Documents` over the database: the interface between the catalog and search."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.catalog_id = str(read_fact(database, "catalog_id"))
        self._refresh_hashes()
        self._refresh_labels()

    def _refresh_hashes(self) -> None:
        """Update all text hashes if the recipe of the embedded texts has changed, so that old vectors become stale."""
        if self._database.is_read_only or read_fact(self._database, "text_recipe") == str(EMBEDDING_RECIPE):
            return
        with self._database.write() as transaction:
            rows = transaction.read(f"select {DOCUMENT_COLUMNS} from documents where gone = 0")
            hashes = [(vector_hash(document_of(row)), row[0]) for row in rows]
            transaction.execute_many("update documents set text_hash = ? where key = ?", hashes)
            rebuild(transaction)
            transaction.put_fact("text_recipe", str(EMBEDDING_RECIPE))

    def _refresh_labels(self) -> None:
        """Complete the labels of documents that an older release has written. Indexes follow the changed documents."""
        if self._database.is_read_only or read_fact(self._database, "label_recipe") == str(LABEL_RECIPE):
            return
        with self._database.write() as transaction:
            add_missing_labels(transaction)
            transaction.put_fact("label_recipe", str(LABEL_RECIPE))

    def revision(self) -> int:
        """Return the revision of the latest change."""
        return int(self._database.read("select value from counter")[0][0])

    def count(self) -> int:
        """Return the number of documents."""
        return total(self._database, DOCUMENTS)

    def vector_count(self, space: str) -> int:
        """Return the number of stored vectors of `space`."""
        return total(self._database, vectors_in(space))

    def document_changes(self, since: int, limit: int) -> Sequence[DocumentPut | DocumentGone]:
        """Return at most `limit` document changes after the revision `since`, in order; only the latest of each key."""
        sql = (
            f"select d.number, d.gone, {_TEXTS}, {_prefixed(DOCUMENT_COLUMNS)} from documents d"
            " left join bodies b on b.key = d.key where d.number > ? order by d.number limit ?"
        )
        return [
            DocumentGone(row[0], row[4]) if row[1] else DocumentPut(row[0], document_of(row[4:], row[2], row[3]))
            for row in self._database.read(sql, (since, limit))
        ]

    def changed_ids(self, since: int, until: int) -> list[str]:
        """Return the ids of the documents with a revision in (`since`, `until`], deleted ones too."""
        sql = "select id from documents where number > ? and number <= ? order by number"
        return [row[0] for row in self._database.read(sql, (since, until))]

    def documents_with_examples(self) -> list[Document]:
        """Return the documents that have examples, without their bodies."""
        sql = f"select {DOCUMENT_COLUMNS} from documents where examples <> '[]'"
        return [document_of(row) for row in self._database.read(sql)]

    def vector_changes(self, space: str, since: int, limit: int) -> Sequence[VectorPut | DocumentGone]:
        """Return at most `limit` changes to the vectors of `space` after the revision `since`, in order."""
        sql = (
            "select number, key, vector from vectors where space = ? and number > ?"
            " union all select number, key, null from documents where gone = 1 and number > ? order by 1 limit ?"
        )
        return [
            DocumentGone(revision, key) if blob is None else VectorPut(revision, key, np.frombuffer(blob, np.float32))
            for revision, key, blob in self._database.read(sql, (space, since, since, limit))
        ]

    def stale(self, space: str, limit: int, after: int = 0, since: int = 0) -> Sequence[Stale]:
        """Return documents (key above `after`, ascending) whose current text has no vector in `space`.

        `since` limits the result to documents that changed or became stale after this revision.
        """
        changed, revision = _changed_since(since)
        rows = self._database.read(
            f"select {_prefixed(DOCUMENT_COLUMNS)}, d.text_hash {_STALE}{changed} and d.key > ? order by d.key limit ?",
            (space, *revision, after, limit),
        )
        documents = [(document_of(row), row[-1]) for row in rows]
        return [
            Stale(document.key, hashed, embedded_text(document), document.examples) for document, hashed in documents
        ]

    @contextmanager
    def claim(self, space: str, limit: int, after: int = 0, since: int = 0) -> Iterator[Claimed]:
        """Claim at most `limit` documents of `stale` for the block. Only one process at a time claims a document."""
        candidates = _whole_blocks(self.stale(space, limit, after, since), limit)
        blocks = {document.key // _BLOCK for document in candidates}
        with ExitStack() as claims:
            claimed = {key for key in blocks if claims.enter_context(self._database.claim(f"embed {space} {key}"))}
            # Read again: other processes may have embedded some of the documents before the claim.
            current = self.stale(space, limit, after, since) if claimed else []
            stale = [document for document in current if document.key // _BLOCK in claimed]
            yield Claimed(stale, candidates[-1].key if candidates else None, len(claimed) < len(blocks))

    def stale_count(self, space: str, keys: Sequence[int] | None = None) -> int:
        """Return the number of documents (of `keys`, or all) that are stale in `space`."""
        if keys is None:
            return stale_total(self._database, space)
        sql = f"select count(*) {_STALE} and d.key in ({_placeholders(keys)})"
        return int(self._database.read(sql, (space, *keys))[0][0])

    def put_vectors(self, space: str, vectors: Iterable[Embedded]) -> int:
        """Store the vectors whose text hash is still that of the document, and return their number. Idempotent."""
        stored, remaining = 0, iter(vectors)
        while batch := list(itertools.islice(remaining, _VECTORS_PER_WRITE)):
            with self._database.write() as transaction:
                stored += sum(_put_vector(transaction, space, vector) for vector in batch)
        return stored

    def forget_vectors(self, space: str, keys: Sequence[int] | None = None) -> None:
        """Mark the vectors of `space` (of some keys, or all) as stale. Searches use them until they are replaced."""
        only = "" if keys is None else f" and key in ({_placeholders(keys)})"
        with self._database.write() as transaction:
            count_forgotten(transaction, space, keys)
            transaction.execute(f"update vectors set text_hash = '' where space = ?{only}", (space, *(keys or ())))
            transaction.next_revision()  # wakes the processes that embed

    def spaces(self) -> list[str]:
        """Return the spaces that have vectors, with one index lookup per space."""
        spaces, last = [], ""
        while (
            last := self._database.read("select min(space) from vectors where space > ?", (last,))[0][0]
        ) is not None:
            spaces.append(str(last))
        return spaces

    def begin_backfill(self, space: str) -> None:
        """Keep the vectors of a space that no service uses yet, until a service uses it or another backfill begins."""
        with self._database.write() as transaction:
            transaction.put_fact(_BACKFILL_FACT, space)

    def backfill_spaces(self) -> set[str]:
        """Return the space of the current backfill, if no service uses it yet; else an empty set."""
        space = read_fact(self._database, _BACKFILL_FACT)
        return set() if space is None else {space}

    def spaces_in_use(self, of_services: Iterable[str]) -> set[str]:
        """Return the spaces that something needs: services, stored vectors, or the current backfill."""
        return {*self.spaces(), *self.backfill_spaces(), *of_services}

    def drop_other_spaces(self, spaces: Sequence[str]) -> int:
        """Delete the vectors of all spaces except `spaces` and that of the backfill; return their number."""
        backfill = self.backfill_spaces()
        others = sorted(set(self.spaces()) - set(spaces) - backfill)
        if not others and backfill.isdisjoint(spaces):
            return 0
        with self._database.write() as transaction:
            if not backfill.isdisjoint(spaces):
                transaction.delete_fact(_BACKFILL_FACT)
            count_dropped(transaction, others)
            return transaction.execute(f"delete from vectors where space in ({_placeholders(others)})", others)

    def read(self, keys: Sequence[int]) -> dict[int, Document]:
        """Return each of these documents that exists."""
        sql = (
            f"select {_TEXTS}, {_prefixed(DOCUMENT_COLUMNS)} from documents d"
            " left join bodies b on b.key = d.key"
            f" where d.gone = 0 and d.key in ({_placeholders(keys)})"
        )
        return {row[2]: document_of(row[2:], *row[:2]) for row in self._database.read(sql, keys)}

    def cards(self, keys: Sequence[int]) -> dict[int, tuple[str, bytes]]:
        """Return id and encoded card of each of these documents that exists."""
        sql = f"select key, id, card from documents where gone = 0 and key in ({_placeholders(keys)})"
        return {key: (skill_id, card.encode()) for key, skill_id, card in self._database.read(sql, keys)}

    def each_card(self, keys: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield key and encoded card of each of any number of documents that exists."""
        for start in range(0, len(keys), _AT_ONCE):
            for key, (_, card) in self.cards(keys[start : start + _AT_ONCE]).items():
                yield key, card

    def bodies(self, keys: Sequence[int]) -> dict[int, str]:
        """Return the body of each of these documents."""
        sql = f"select key, body from bodies where key in ({_placeholders(keys)})"
        return dict(self._database.read(sql, keys))

    def body_starts(self, keys: Sequence[int], characters: int) -> dict[int, str]:
        """Return the first characters of the body of each of these documents."""
        sql = f"select key, substr(body, 1, ?) from bodies where key in ({_placeholders(keys)})"
        return dict(self._database.read(sql, (characters, *keys)))


_TEXTS = "coalesce(b.body, ''), coalesce(b.files, '')"

_STALE = (
    "from documents d left join vectors v on v.space = ? and v.key = d.key"
    " where d.gone = 0 and (v.text_hash is null or v.text_hash <> d.text_hash)"
)


def _changed_since(since: int) -> tuple[str, tuple[int, ...]]:
    """Return the SQL condition that a document changed or became stale after a revision; empty for revision 0."""
    if not since:
        return "", ()
    changed = "select key from documents where number > ?"
    forgotten = (
        "select key from vectors where text_hash = ''"  # of any space: with a space SQLite chooses a slower index
    )
    return f" and d.key in ({changed} union all {forgotten})", (since,)


def _whole_blocks(stale: Sequence[Stale], limit: int) -> Sequence[Stale]:
    """Drop the last block if the limit may have cut it, so that the next claim gets the whole block."""
    whole = [document for document in stale if document.key // _BLOCK != stale[-1].key // _BLOCK]
    return whole if whole and len(stale) == limit else stale


def _placeholders(values: Sequence[object]) -> str:
    """Return a placeholder for every value; for no values `null`, which equals nothing."""
    return ", ".join("?" * len(values)) or "null"


def _prefixed(columns: str) -> str:
    return ", ".join(f"d.{column}" for column in columns.split(", "))


def _put_vector(transaction: Transaction, space: str, embedded: Embedded) -> int:
    current = transaction.read(
        "select v.text_hash from documents d left join vectors v on v.space = ? and v.key = d.key"
        " where d.key = ? and d.gone = 0 and d.text_hash = ?",
        (space, embedded.key, embedded.text_hash),
    )
    if not current or current[0][0] == embedded.text_hash:
        return 0
    transaction.count(current_in(space), 1)
    transaction.count(vectors_in(space), current[0][0] is None)
    vector = np.ascontiguousarray(embedded.vector, np.float32)  # bytes to SQLite, a halfvec to PostgreSQL
    revision = transaction.next_revision()
    transaction.execute(
        "insert into vectors (space, key, text_hash, vector, number)"
        " values (?, ?, ?, ?, ?) on conflict (space, key) do update set"
        " text_hash = excluded.text_hash, vector = excluded.vector, number = excluded.number",
        (space, embedded.key, embedded.text_hash, vector, revision),
    )
    return 1
