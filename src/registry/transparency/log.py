"""The log in the database: its entries in order, and the hash of each perfect subtree, written once.

An entry that withdraws or restores something names it in the column `withdraws`: a version as `id@version`, a skill by
its id. The last entry for a name says how things are, and why.
"""

import datetime
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import msgspec

from registry.db import Database, Reader, Transaction, read_fact
from registry.domain.models import timestamp
from registry.domain.release_proofs import PublisherRun
from registry.domain.withdrawals import WithdrawalState, Withdrawn
from registry.transparency.fork import Fork, forget_fork, read_fork, refuse_if_forked
from registry.transparency.merkle import Hash, consistency_proof, inclusion_proof, leaf_hash, node_hash, root

Kind = Literal["key", "publish", "yank", "unyank", "revoke", "deprecate", "undeprecate"]

WITHDRAWALS: Mapping[Kind, WithdrawalState | None] = MappingProxyType(
    {"yank": "yanked", "unyank": None, "revoke": "revoked", "deprecate": "deprecated", "undeprecate": None}
)
"""What is true after each kind of entry that withdraws or restores something; None: it is not withdrawn any more."""

_KEY = "log_key"
_KEYS = "log_keys"
_SIZE = "select coalesce(max(number) + 1, 0) from log_entries"


class LogEntry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One entry of the log. `sha256` is the hash of the zip, `digest` the tree digest of its files.

    `reason` and `replacement` are those of a withdrawal, if it has any. An entry about a whole skill has no `version`.

    `contradicts` is in the entry of a key that starts a new identity: size and root of the checkpoint that the log
    contradicts, or an empty text. `publisher` is the run of the workflow that has published the version.
    """

    kind: Kind
    at: str = ""
    skill_id: str | None = None
    version: str | None = None
    sha256: str | None = None
    digest: str | None = None
    key: str | None = None
    contradicts: str | None = None
    reason: str | None = None
    replacement: str | None = None
    publisher: PublisherRun | None = None

    @property
    def subject(self) -> str | None:
        """What the entry withdraws or restores: a version as `id@version`, or a skill by its id; None for others."""
        if self.kind not in WITHDRAWALS or self.skill_id is None:
            return None
        return self.skill_id if self.version is None else _name(self.skill_id, self.version)

    @property
    def withdrawn(self) -> Withdrawn | None:
        """How the subject of the entry is withdrawn after it, None if it is not."""
        state = WITHDRAWALS.get(self.kind)
        if state is None:
            return None
        return Withdrawn(state=state, at=self.at, reason=self.reason, replacement=self.replacement)


def canonical(entry: LogEntry) -> bytes:
    """Return the bytes to hash: JSON with sorted keys, without spaces, in ASCII (RFC 8785 for ASCII)."""
    return json.dumps(msgspec.to_builtins(entry), sort_keys=True, separators=(",", ":")).encode()


class TransparencyLog:
    """Appends entries within transactions, and returns roots and proofs of every state of the tree."""

    def __init__(self, database: Database, clock: Callable[[], datetime.datetime]) -> None:
        self._database = database
        self._clock = clock

    def append(self, transaction: Transaction, entry: LogEntry) -> int:
        """Append an entry with the current time, and return its number, from 0 on. Raises LogForked."""
        refuse_if_forked(transaction)
        entry = msgspec.structs.replace(entry, at=timestamp(self._clock()))
        return _append(transaction, entry, canonical(entry))

    def replay(self, transaction: Transaction, text: str) -> None:
        """Append an entry that this log had already, exactly as it was, when the log is built again.

        Raises msgspec.DecodeError.
        """
        entry = msgspec.json.decode(text, type=LogEntry)
        if entry.kind == "key" and entry.key is not None:
            earlier = [] if entry.contradicts is not None else _keys(transaction)
            _put_keys(transaction, [*earlier, entry.key])
        _append(transaction, entry, text.encode())

    def record_key(self, key: str) -> None:
        """Append an entry for the key that signs from now on, unless it is the current one already.

        A forked log keeps its key: `start_new_identity` replaces it.
        """
        if read_fact(self._database, _KEY) == key:  # a start needs no write, so a full disk does not prevent it
            return
        with self._database.write() as transaction:
            if read_fact(transaction, _KEY) == key or read_fork(transaction) is not None:
                return
            _put_keys(transaction, [*_keys(transaction), key])
            self.append(transaction, LogEntry(kind="key", key=key))

    def identity_keys(self) -> list[str]:
        """Return the keys of this identity of the log, the current one last."""
        return _keys(self._database)

    def start_new_identity(self, key: str) -> None:
        """Sign with another key from now on, and forget the checkpoints that earlier ones have signed."""
        with self._database.write() as transaction:
            fork = read_fork(transaction)
            forget_fork(transaction)
            _put_keys(transaction, [key])
            contradicts = f"{fork.seen_size} {fork.seen_root}" if fork else ""
            self.append(transaction, LogEntry(kind="key", key=key, contradicts=contradicts))
            transaction.touched.append(key)

    def fork(self) -> Fork | None:
        """Return the checkpoint that the log contradicts, None if it contradicts none."""
        return read_fork(self._database)

    def size(self) -> int:
        """Return the number of entries."""
        return int(self._database.read(_SIZE)[0][0])

    def entries(self, start: int, limit: int) -> list[str]:
        """Return at most `limit` entries from number `start` on, as canonical texts."""
        sql = "select entry from log_entries where number >= ? order by number limit ?"
        return [row[0] for row in self._database.read(sql, (start, limit))]

    def publish_entry(self, skill_id: str, version: str) -> tuple[int, str] | None:
        """Return number and canonical text of the entry that publishes a version, None if there is none."""
        sql = "select number, entry from log_entries where publishes = ? order by number limit 1"
        rows = self._database.read(sql, (_name(skill_id, version),))
        return (int(rows[0][0]), str(rows[0][1])) if rows else None

    def withdrawals(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Return number and text of at most `limit` entries that withdraw or restore something, beyond `after`."""
        sql = "select number, entry from log_entries where withdraws is not null and number > ? order by number limit ?"
        return [(int(number), str(entry)) for number, entry in self._database.read(sql, (after, limit))]

    def last_withdrawals(self, limit: int) -> list[tuple[int, str]]:
        """Return number and text of the last entries that withdraw or restore something, the newest first."""
        sql = "select number, entry from log_entries where withdraws is not null order by number desc limit ?"
        return [(int(number), str(entry)) for number, entry in self._database.read(sql, (limit,))]

    def root(self, size: int) -> Hash:
        """Return the root of the first `size` entries."""
        return root(size, self._subtree)

    def inclusion(self, number: int, size: int) -> list[Hash]:
        """Return the inclusion proof of entry `number` in the first `size` entries. Raises ValueError."""
        return inclusion_proof(number, size, self._subtree)

    def consistency(self, before: int, size: int) -> list[Hash]:
        """Return the consistency proof from the first `before` entries to the first `size`. Raises ValueError."""
        return consistency_proof(before, size, self._subtree)

    def _subtree(self, level: int, position: int) -> Hash:
        rows = self._database.read("select hash from log_nodes where level = ? and position = ?", (level, position))
        node: Hash = rows[0][0]
        return node


def withdrawals_of(reader: Reader, skill_id: str) -> dict[str, Withdrawn]:
    """Return what the log withdraws of a skill: its versions as `id@version`, and all of it by its id."""
    sql = (
        "select withdraws, entry from log_entries where withdraws = ? or (withdraws > ? and withdraws < ?)"
        " order by number"
    )
    current: dict[str, Withdrawn] = {}
    for subject, text in reader.read(sql, (skill_id, f"{skill_id}@", f"{skill_id}A")):  # A follows @
        _follow(current, subject, text)
    return current


def deprecation_of(reader: Reader, skill_id: str) -> Withdrawn | None:
    """Return how the log deprecates a skill, None if it does not."""
    sql = "select withdraws, entry from log_entries where withdraws = ? order by number desc limit 1"
    current: dict[str, Withdrawn] = {}
    for subject, text in reader.read(sql, (skill_id,)):
        _follow(current, subject, text)
    return current.get(skill_id)


def _follow(current: dict[str, Withdrawn], subject: str, text: str) -> None:
    """Note what an entry says of its subject. A damaged entry says nothing: fsck finds it."""
    try:
        withdrawn = msgspec.json.decode(text, type=LogEntry).withdrawn
    except msgspec.DecodeError:
        return
    if withdrawn is None:
        current.pop(subject, None)
    else:
        current[subject] = withdrawn


def _keys(reader: Reader) -> list[str]:
    stored, current = read_fact(reader, _KEYS), read_fact(reader, _KEY)
    if stored is not None:
        return list(json.loads(stored))
    return [] if current is None else [current]


def _put_keys(transaction: Transaction, keys: list[str]) -> None:
    transaction.put_fact(_KEYS, json.dumps(keys))
    transaction.put_fact(_KEY, keys[-1])


def _append(transaction: Transaction, entry: LogEntry, text: bytes) -> int:
    """Append an entry with its text, and the hashes of the subtrees that it completes. Return its number."""
    number = int(transaction.read(_SIZE)[0][0])
    publishes = _name(entry.skill_id, entry.version) if entry.kind == "publish" else None
    sql = "insert into log_entries (number, entry, publishes, withdraws) values (?, ?, ?, ?)"
    transaction.execute(sql, (number, text.decode(), publishes, entry.subject))
    level, position, node = 0, number, leaf_hash(text)
    _insert_node(transaction, level, position, node)
    while position & 1:  # a right subtree is complete, so the one above it is too
        sql = "select hash from log_nodes where level = ? and position = ?"
        left: Hash = transaction.read(sql, (level, position - 1))[0][0]
        level, position, node = level + 1, position >> 1, node_hash(left, node)
        _insert_node(transaction, level, position, node)
    return number


def _name(skill_id: str | None, version: str | None) -> str:
    return f"{skill_id}@{version}"


def _insert_node(transaction: Transaction, level: int, position: int, node: Hash) -> None:
    sql = "insert into log_nodes (level, position, hash) values (?, ?, ?)"
    transaction.execute(sql, (level, position, node))
