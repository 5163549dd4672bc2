"""The documents search follows, kept in the catalog's own transactions: `search.types.Documents` over Database."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import msgspec
import numpy as np

from registry.db import Database, Row, Transaction
from registry.domain.models import Card
from search.text import RECIPE, embedded_text, text_hash
from search.types import Claimed, Document, DocumentGone, DocumentPut, Embedded, Stale, VectorPut

_BLANK_COLUMNS = "gone, name, description, tags, capabilities, labels, text_hash, card"
_BLANK = "1, '', '', '[]', '[]', '[]', '', '{}'"
_FILLING = "filling"
"""The fact that names the space which `skill-registry embed` fills."""

_BLOCK = 256
"""Documents that are claimed together, by their keys: as many as are embedded at a time."""

_VECTORS_A_WRITE = 64
"""So few that other writers need not wait long where an index of vectors grows with them."""

_DOCUMENT = "key, id, name, description, tags, capabilities, labels"


def labels(card: Card, scope: str | None) -> tuple[str, ...]:
    """Return what filters can ask of a skill, each as `field:value`."""
    return (
        *(f"tag:{tag.casefold()}" for tag in card.tags),
        *(f"capability:{capability.casefold()}" for capability in card.capabilities),
        f"source:{card.source}",
        *((f"scope:{scope}",) if scope else ()),
        f"installed:{str(card.installed).lower()}",
        f"enabled:{str(card.enabled).lower()}",
        *((f"risk:{card.findings}",) if card.findings else ()),
    )


def ensure_document(transaction: Transaction, skill_id: str) -> int:
    """Return the key of the document with this id, made if there is none; one that is gone gets its key back."""
    found = transaction.read("select key from documents where id = ?", (skill_id,))
    if found:
        return int(found[0][0])
    sql = f"insert into documents (id, number, {_BLANK_COLUMNS}) values (?, ?, {_BLANK}) returning key"
    return int(transaction.read(sql, (skill_id, transaction.next_revision()))[0][0])


def restore_document(transaction: Transaction, key: int, skill_id: str) -> None:
    """Give a skill a document under the key it has, to be put next, where there is none."""
    sql = f"insert into documents (key, id, number, {_BLANK_COLUMNS}) values (?, ?, ?, {_BLANK}) on conflict do nothing"
    transaction.execute(sql, (key, skill_id, transaction.next_revision()))


def put_document(transaction: Transaction, key: int, card: Card, scope: str | None, body: str) -> int:
    """Make the document of a skill what the skill now is; return the number of the change."""
    number = transaction.next_revision()
    transaction.changes_documents = True
    document = Document(key=key, id=card.id, name=card.name, description=card.description)
    encode = msgspec.json.encode
    transaction.execute(
        "update documents set gone = 0, number = ?, name = ?, description = ?, tags = ?, capabilities = ?,"
        " labels = ?, text_hash = ?, card = ? where key = ?",
        (
            number,
            card.name,
            card.description,
            encode(card.tags).decode(),
            encode(card.capabilities).decode(),
            encode(labels(card, scope)).decode(),
            text_hash(embedded_text(document)),
            encode(card).decode(),
            key,
        ),
    )
    sql = "insert into bodies (key, body) values (?, ?) on conflict (key) do update set body = excluded.body"
    transaction.execute(sql, (key, body))
    return number


def remove_document(transaction: Transaction, key: int) -> int:
    """Mark a document as gone, with its vectors; return the number of the change."""
    number = transaction.next_revision()
    transaction.changes_documents = True
    transaction.execute(
        "update documents set gone = 1, number = ?, name = '', description = '', labels = '[]', card = '{}'"
        " where key = ?",
        (number, key),
    )
    transaction.execute("delete from bodies where key = ?", (key,))
    transaction.execute("delete from vectors where key = ?", (key,))
    return number


class CatalogDocuments:
    """`search.types.Documents` over the database: the seam between the catalog and search."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.catalog_id = str(database.read("select value from facts where name = 'catalog_id'")[0][0])
        self._refresh_hashes()

    def _refresh_hashes(self) -> None:
        """Hash every text anew when the recipe of texts has changed, so that old vectors count as stale."""
        known = self._database.read("select value from facts where name = 'text_recipe'")
        if self._database.is_read_only or (known and known[0][0] == str(RECIPE)):
            return
        with self._database.write() as transaction:
            rows = transaction.read(f"select {_DOCUMENT} from documents where gone = 0")
            hashes = [(text_hash(embedded_text(_document(row))), row[0]) for row in rows]
            transaction.execute_many("update documents set text_hash = ? where key = ?", hashes)
            transaction.put_fact("text_recipe", str(RECIPE))

    def revision(self) -> int:
        """Return the revision of the latest change."""
        return int(self._database.read("select value from counter")[0][0])

    def count(self) -> int:
        """Return how many documents there are."""
        sql = "select (select count(*) from documents) - (select count(*) from documents where gone = 1)"
        return int(self._database.read(sql)[0][0])

    def vector_count(self, space: str) -> int:
        """Return how many vectors of `space` are stored."""
        return int(self._database.read("select count(*) from vectors where space = ?", (space,))[0][0])

    def document_changes(self, since: int, limit: int) -> Sequence[DocumentPut | DocumentGone]:
        """Return at most `limit` document changes numbered above `since`, in order; only the latest of each key."""
        sql = (
            f"select d.number, d.gone, b.body, {_prefixed(_DOCUMENT)} from documents d"
            " left join bodies b on b.key = d.key where d.number > ? order by d.number limit ?"
        )
        return [
            DocumentGone(row[0], row[3]) if row[1] else DocumentPut(row[0], _document(row[3:], row[2]))
            for row in self._database.read(sql, (since, limit))
        ]

    def vector_changes(self, space: str, since: int, limit: int) -> Sequence[VectorPut | DocumentGone]:
        """Return at most `limit` changes to the vectors of `space` numbered above `since`, in order."""
        sql = (
            "select number, key, vector from vectors where space = ? and number > ?"
            " union all select number, key, null from documents where gone = 1 and number > ? order by 1 limit ?"
        )
        return [
            DocumentGone(number, key) if vector is None else VectorPut(number, key, np.frombuffer(vector, np.float32))
            for number, key, vector in self._database.read(sql, (space, since, since, limit))
        ]

    def stale(self, space: str, limit: int, after: int = 0, since: int = 0) -> Sequence[Stale]:
        """Return documents (key above `after`, ascending) whose current text has no vector in `space`.

        With `since` only those changed, or made stale, after this number are looked at.
        """
        changed, number = _changed_since(since)
        rows = self._database.read(
            f"select {_prefixed(_DOCUMENT)}, d.text_hash {_STALE}{changed} and d.key > ? order by d.key limit ?",
            (space, *number, after, limit),
        )
        return [Stale(row[0], row[-1], embedded_text(_document(row))) for row in rows]

    @contextmanager
    def claim(self, space: str, limit: int, after: int = 0, since: int = 0) -> Iterator[Claimed]:
        """Claim at most `limit` of what `stale` returns, for the block: of all processes that embed, one has each."""
        seen = _whole_blocks(self.stale(space, limit, after, since), limit)
        blocks = {one.key // _BLOCK for one in seen}
        with ExitStack() as claims:
            mine = {one for one in blocks if claims.enter_context(self._database.claim(f"embed {space} {one}"))}
            # Read again: others may have embedded some of it before it was claimed here.
            stale = [one for one in self.stale(space, limit, after, since) if one.key // _BLOCK in mine] if mine else []
            yield Claimed(stale, seen[-1].key if seen else None, len(mine) < len(blocks))

    def stale_count(self, space: str, keys: Sequence[int] | None = None, since: int = 0) -> int:
        """Return how many documents (of `keys`, or all, changed after `since`) have no current vector in `space`."""
        changed, number = _changed_since(since)
        only = "" if keys is None else f" and d.key in ({_marks(keys)})"
        sql = f"select count(*) {_STALE}{changed}{only}"
        return int(self._database.read(sql, (space, *number, *(keys or ())))[0][0])

    def put_vectors(self, space: str, vectors: Iterable[Embedded]) -> int:
        """Store vectors and return how many were kept: those whose text hash is still the document's. Idempotent."""
        kept, left = 0, iter(vectors)
        while some := list(itertools.islice(left, _VECTORS_A_WRITE)):
            with self._database.write() as transaction:
                kept += sum(_put_vector(transaction, space, vector) for vector in some)
        return kept

    def forget_vectors(self, space: str, keys: Sequence[int] | None = None) -> None:
        """Make the vectors of `space` (of some keys, or all) stale; they answer until new ones take their place."""
        only = "" if keys is None else f" and key in ({_marks(keys)})"
        with self._database.write() as transaction:
            transaction.execute(f"update vectors set text_hash = '' where space = ?{only}", (space, *(keys or ())))
            transaction.next_revision()  # so that a process that embeds sees that there is something to do

    def spaces(self) -> list[str]:
        """Return the spaces there are vectors of: one step of the index for each, however many vectors there are."""
        found, last = [], ""
        while (
            last := self._database.read("select min(space) from vectors where space > ?", (last,))[0][0]
        ) is not None:
            found.append(str(last))
        return found

    def begin_backfill(self, space: str) -> None:
        """Have the vectors of a space kept though no service uses them yet, until one does or another is filled."""
        with self._database.write() as transaction:
            transaction.put_fact(_FILLING, space)

    def backfill_spaces(self) -> set[str]:
        """Return the space that is being filled and in no service's use yet, if there is one."""
        return {row[0] for row in self._database.read("select value from facts where name = ?", (_FILLING,))}

    def drop_other_spaces(self, spaces: Sequence[str]) -> int:
        """Delete the vectors of every space but `spaces` and the one being filled; return how many there were."""
        filling = self.backfill_spaces()
        others = sorted(set(self.spaces()) - set(spaces) - filling)
        if not others and filling.isdisjoint(spaces):
            return 0
        with self._database.write() as transaction:
            if not filling.isdisjoint(spaces):
                transaction.execute("delete from facts where name = ?", (_FILLING,))
            return transaction.execute(f"delete from vectors where space in ({_marks(others)})", others)

    def cards(self, keys: Sequence[int]) -> dict[int, tuple[str, bytes]]:
        """Return id and encoded card of each of these documents that is still there."""
        sql = f"select key, id, card from documents where gone = 0 and key in ({_marks(keys)})"
        return {key: (skill_id, card.encode()) for key, skill_id, card in self._database.read(sql, keys)}

    def bodies(self, keys: Sequence[int]) -> dict[int, str]:
        """Return the text of each of these documents."""
        sql = f"select key, body from bodies where key in ({_marks(keys)})"
        return dict(self._database.read(sql, keys))


_STALE = (
    "from documents d left join vectors v on v.space = ? and v.key = d.key"
    " where d.gone = 0 and (v.text_hash is null or v.text_hash <> d.text_hash)"
)


def _changed_since(since: int) -> tuple[str, tuple[int, ...]]:
    """Return the condition that a document changed, or was made stale, after a number; none where that is all."""
    if not since:
        return "", ()
    changed = "select key from documents where number > ?"
    forgotten = "select key from vectors where text_hash = ''"  # of any space: else SQLite takes another index
    return f" and d.key in ({changed} union all {forgotten})", (since,)


def _whole_blocks(stale: Sequence[Stale], limit: int) -> Sequence[Stale]:
    """Return documents without those of the last block, if more of it may be stale: who claims next takes it whole."""
    whole = [one for one in stale if one.key // _BLOCK != stale[-1].key // _BLOCK]
    return whole if whole and len(stale) == limit else stale


def _marks(values: Sequence[object]) -> str:
    """Return a placeholder for every value; where there is none, what nothing equals."""
    return ", ".join("?" * len(values)) or "null"


def _prefixed(columns: str) -> str:
    return ", ".join(f"d.{column}" for column in columns.split(", "))


def _put_vector(transaction: Transaction, space: str, made: Embedded) -> int:
    current = transaction.read(
        "select v.text_hash from documents d left join vectors v on v.space = ? and v.key = d.key"
        " where d.key = ? and d.gone = 0 and d.text_hash = ?",
        (space, made.key, made.text_hash),
    )
    if not current or current[0][0] == made.text_hash:
        return 0
    vector = np.ascontiguousarray(made.vector, np.float32)  # bytes to SQLite, a halfvec to PostgreSQL
    number = transaction.next_revision()
    transaction.execute(
        "insert into vectors (space, key, text_hash, vector, number)"
        " values (?, ?, ?, ?, ?) on conflict (space, key) do update set"
        " text_hash = excluded.text_hash, vector = excluded.vector, number = excluded.number",
        (space, made.key, made.text_hash, vector, number),
    )
    return 1


def _document(row: Row, body: str = "") -> Document:
    return Document(
        key=row[0],
        id=row[1],
        name=row[2],
        description=row[3],
        tags=tuple(json.loads(row[4])),
        capabilities=tuple(json.loads(row[5])),
        body=body,
        labels=tuple(json.loads(row[6])),
    )
