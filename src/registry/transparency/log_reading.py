"""Reads the entries of a log in order: what they withdraw, and the root that they must have.

A reader may begin anywhere: an inclusion proof of the first entry has the subtrees before it (RFC 9162, section 2.1.3).
If these were not those of the log, the root would be another one.
"""

from collections.abc import Sequence

import msgspec

from registry.domain.withdrawals import Withdrawn
from registry.transparency.log import LogEntry
from registry.transparency.merkle import Hash, leaf_hash, node_hash


class LogReading(msgspec.Struct, kw_only=True):
    """What was read of a log: the number of entries, their perfect subtrees from the largest on, what is withdrawn.

    `withdrawn` has versions as `id@version`, and whole skills by their ids.
    """

    size: int = 0
    subtrees: list[bytes] = []
    withdrawn: dict[str, Withdrawn] = {}

    @classmethod
    def before(cls, number: int, proof: Sequence[Hash]) -> "LogReading":
        """Return the reading of the entries before one, given its inclusion proof in the log that ends with it."""
        return cls(size=number, subtrees=list(reversed(proof)))

    def append(self, text: str) -> None:
        """Add the next entry. Raises IndexError if the subtrees were not those of a log."""
        node, position = leaf_hash(text.encode()), self.size
        while position & 1:  # a right subtree is complete, so the one above it is too
            node, position = node_hash(self.subtrees.pop(), node), position >> 1
        self.subtrees.append(node)
        self.size += 1
        self.follow(text)

    def follow(self, text: str) -> None:
        """Note what an entry withdraws or restores."""
        try:
            entry = msgspec.json.decode(text, type=LogEntry)
        except msgspec.DecodeError:  # of a kind that a later release knows
            return
        subject = entry.subject
        if subject is None:
            return
        former, withdrawn = self.withdrawn.get(subject), entry.withdrawn
        if former is not None and former.state == "revoked" and entry.kind != "revoke":
            return  # for ever
        if withdrawn is None:
            self.withdrawn.pop(subject, None)
        else:
            self.withdrawn[subject] = withdrawn

    def of(self, skill_id: str, version: str) -> Withdrawn | None:
        """Return how a version, or all of its skill, is withdrawn."""
        return self.withdrawn.get(f"{skill_id}@{version}") or self.withdrawn.get(skill_id)

    def root(self) -> Hash:
        """Return the root of the entries that were read."""
        *others, node = self.subtrees
        for subtree in reversed(others):
            node = node_hash(subtree, node)
        return node
