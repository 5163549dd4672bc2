"""What the log of another registry says of its versions: which ones are yanked or revoked.

The index of a registry is not signed. Somebody between it and a client could say that a revoked version is active, but
cannot change the log. A client reads the entries of a log once, and later the new ones. Their hashes must give the root
that the registry has signed, so no entry can be left out. The database keeps which versions are withdrawn, and the
hashes of the perfect subtrees of what was read (RFC 9162, section 2.1).
"""

from typing import Literal

import msgspec

from registry.db import Database, read_fact
from registry.sources.log_monitor import LogRefused
from registry.sources.remote_registry import RemoteRegistry
from registry.transparency.checkpoint import LogCheckpoint, Verifier
from registry.transparency.log import LogEntry
from registry.transparency.merkle import Hash, leaf_hash, node_hash

Withdrawal = Literal["yank", "revoke"]

_FACT = "registry-log-states:"


class _Seen(msgspec.Struct, kw_only=True):
    """What was read of a log: the number of entries, the subtrees from the largest on, and what is withdrawn."""

    key: str
    size: int = 0
    subtrees: list[bytes] = []
    withdrawn: dict[str, Withdrawal] = {}

    def append(self, text: str) -> None:
        """Add the next entry."""
        node, position = leaf_hash(text.encode()), self.size
        while position & 1:  # a right subtree is complete, so the one above it is too
            node, position = node_hash(self.subtrees.pop(), node), position >> 1
        self.subtrees.append(node)
        self.size += 1
        self._apply(text)

    def _apply(self, text: str) -> None:
        try:
            entry = msgspec.json.decode(text, type=LogEntry)
        except msgspec.DecodeError:  # of a kind that a later release knows
            return
        name = _name(str(entry.skill_id), str(entry.version))
        if entry.kind == "revoke":
            self.withdrawn[name] = "revoke"
        elif entry.kind == "yank":
            self.withdrawn.setdefault(name, "yank")
        elif entry.kind == "unyank" and self.withdrawn.get(name) == "yank":
            del self.withdrawn[name]

    def root(self) -> Hash:
        """Return the root of the entries that were read."""
        *others, node = self.subtrees
        for subtree in reversed(others):
            node = node_hash(subtree, node)
        return node


class LogStates:
    """Reads the states of versions from the logs of other registries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def withdrawal(
        self, registry: RemoteRegistry, verifier: Verifier, state: LogCheckpoint, skill_id: str, version: str
    ) -> Withdrawal | None:
        """Return how a version is withdrawn by the log, None if it is active.

        `state` is a verified state of the log, which includes the version. Raises LogRefused if the entries are not
        those of the signed log, OutboundError.
        """
        seen = self._known(registry, verifier)
        if seen.size < state.size:
            seen = self._read(registry, seen, state)
            with self._database.write() as transaction:
                transaction.put_fact(f"{_FACT}{registry.url}", msgspec.json.encode(seen).decode())
        return seen.withdrawn.get(_name(skill_id, version))

    def forget(self, url: str) -> None:
        """Forget the log of the registry at `url`: it is read anew on its next use."""
        with self._database.write() as transaction:
            transaction.delete_fact(f"{_FACT}{url}")

    def _known(self, registry: RemoteRegistry, verifier: Verifier) -> _Seen:
        text = read_fact(self._database, f"{_FACT}{registry.url}")
        seen = None if text is None else msgspec.json.decode(text, type=_Seen)
        return seen if seen is not None and seen.key == verifier.text else _Seen(key=verifier.text)

    @staticmethod
    def _read(registry: RemoteRegistry, seen: _Seen, state: LogCheckpoint) -> _Seen:
        while seen.size < state.size:
            texts = registry.log_entries(seen.size)[: state.size - seen.size]
            if not texts:
                raise LogRefused(f"the log of {registry.url} shows {seen.size} of {state.size} entries")
            for text in texts:
                seen.append(text)
        if seen.root() != state.root:
            raise LogRefused(f"the entries of the log of {registry.url} are not those that it has signed")
        return seen


def _name(skill_id: str, version: str) -> str:
    return f"{skill_id}@{version}"
