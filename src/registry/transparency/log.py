"""The log as it is kept: entries in order, and the hashes of all perfect subtrees, each written once."""

import datetime
import json
from collections.abc import Callable
from typing import Literal

import msgspec

from registry.db import Database, Transaction
from registry.domain.models import timestamp
from registry.transparency.merkle import Hash, consistency_proof, inclusion_proof, leaf_hash, node_hash, root

Kind = Literal["key", "publish", "yank", "unyank", "revoke"]

_SIZE = "select coalesce(max(number) + 1, 0) from log_entries"


class LogEntry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One line of the log. `sha256` is that of the zip, `digest` that of the tree of its files."""

    kind: Kind
    at: str = ""
    skill_id: str | None = None
    version: str | None = None
    sha256: str | None = None
    digest: str | None = None
    key: str | None = None


def canonical(entry: LogEntry) -> bytes:
    """Return the bytes that are hashed: JSON with its keys in order, without spaces, in ASCII (RFC 8785 for ASCII)."""
    return json.dumps(msgspec.to_builtins(entry), sort_keys=True, separators=(",", ":")).encode()


class TransparencyLog:
    """Appends entries within transactions and answers for any state of the tree since its beginning."""

    def __init__(self, database: Database, clock: Callable[[], datetime.datetime]) -> None:
        self._database = database
        self._clock = clock

    def append(self, transaction: Transaction, entry: LogEntry) -> int:
        """Append an entry, dated now; return its number, from 0 on. It is in the log when the transaction commits."""
        entry = msgspec.structs.replace(entry, at=timestamp(self._clock()))
        number = int(transaction.read(_SIZE)[0][0])
        text = canonical(entry)
        transaction.execute("insert into log_entries values (?, ?)", (number, text.decode()))
        level, position, found = 0, number, leaf_hash(text)
        _put(transaction, level, position, found)
        while position & 1:  # a right subtree is complete, so the one above it is too
            sql = "select hash from log_nodes where level = ? and position = ?"
            left: Hash = transaction.read(sql, (level, position - 1))[0][0]
            level, position, found = level + 1, position >> 1, node_hash(left, found)
            _put(transaction, level, position, found)
        return number

    def note_key(self, key: str) -> None:
        """Append which key signs from now on, unless the log says so already."""
        with self._database.write() as transaction:
            before = transaction.read("select value from facts where name = 'log_key'")
            if before and before[0][0] == key:
                return
            transaction.put_fact("log_key", key)
            self.append(transaction, LogEntry(kind="key", key=key))

    def size(self) -> int:
        """Return how many entries there are."""
        return int(self._database.read(_SIZE)[0][0])

    def entries(self, start: int, limit: int) -> list[str]:
        """Return at most `limit` entries from number `start` on, as the texts that are hashed."""
        sql = "select entry from log_entries where number >= ? order by number limit ?"
        return [row[0] for row in self._database.read(sql, (start, limit))]

    def root(self, size: int) -> Hash:
        """Return the root of the first `size` entries."""
        return root(size, self._subtree)

    def inclusion(self, number: int, size: int) -> list[Hash]:
        """Return what proves that entry `number` is among the first `size`. Raises ValueError."""
        return inclusion_proof(number, size, self._subtree)

    def consistency(self, before: int, size: int) -> list[Hash]:
        """Return what proves that the log of `size` entries begins with that of `before`. Raises ValueError."""
        return consistency_proof(before, size, self._subtree)

    def _subtree(self, level: int, position: int) -> Hash:
        rows = self._database.read("select hash from log_nodes where level = ? and position = ?", (level, position))
        found: Hash = rows[0][0]
        return found


def _put(transaction: Transaction, level: int, position: int, found: Hash) -> None:
    transaction.execute("insert into log_nodes values (?, ?, ?)", (level, position, found))
