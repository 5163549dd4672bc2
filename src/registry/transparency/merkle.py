"""Hashes and proofs of the Merkle tree, and their verification (RFC 6962, section 2.1; RFC 9162, section 2.1)."""

import hashlib
from collections.abc import Callable, Sequence

Hash = bytes
"""A SHA-256 hash, 32 bytes."""

Subtree = Callable[[int, int], Hash]
"""Returns the stored hash of the perfect subtree at a level (0: leaves) and position."""

EMPTY: Hash = hashlib.sha256().digest()
"""The root of the empty tree."""


def leaf_hash(entry: bytes) -> Hash:
    """Return the leaf hash of an entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: Hash, right: Hash) -> Hash:
    """Return the hash of the node above two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """A tree in memory: the hashes of its perfect subtrees, by level and position."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[int, int], Hash] = {}
        self.size = 0

    def append(self, leaf: Hash) -> None:
        """Append the leaf hash of the next entry, and hash every subtree it completes."""
        level, position = 0, self.size
        self.nodes[level, position] = leaf
        while position & 1:
            node = node_hash(self.nodes[level, position - 1], self.nodes[level, position])
            level, position = level + 1, position >> 1
            self.nodes[level, position] = node
        self.size += 1

    def subtree(self, level: int, position: int) -> Hash:
        """Return the hash of a perfect subtree."""
        return self.nodes[level, position]


def root(size: int, subtree: Subtree) -> Hash:
    """Return the root of the first `size` entries."""
    return _range_hash(0, size, subtree) if size else EMPTY


def inclusion_proof(number: int, size: int, subtree: Subtree) -> list[Hash]:
    """Return the inclusion proof of entry `number` in the first `size` entries. Raises ValueError."""
    if not 0 <= number < size:
        raise ValueError("the entry must be among those the tree holds")
    proof: list[Hash] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if number < middle:
            proof.append(_range_hash(middle, end, subtree))
            end = middle
        else:
            proof.append(_range_hash(start, middle, subtree))
            start = middle
    return proof[::-1]


def consistency_proof(before: int, size: int, subtree: Subtree) -> list[Hash]:
    """Return the consistency proof from the first `before` entries to the first `size`. Raises ValueError."""
    if not 0 < before <= size:
        raise ValueError("the earlier size must be from 1 to the later one")
    proof: list[Hash] = []
    start, end, is_known = 0, size, True  # whether the reader knows the hash of the range, as the earlier root
    while before != end:
        middle = start + _split(end - start)
        if before <= middle:
            proof.append(_range_hash(middle, end, subtree))
            end = middle
        else:
            proof.append(_range_hash(start, middle, subtree))
            start, is_known = middle, False
    if not is_known:
        proof.append(_range_hash(start, end, subtree))
    return proof[::-1]


def _range_hash(start: int, end: int, subtree: Subtree) -> Hash:
    """Return the hash of the entries from `start` up to `end`; `start` must be aligned to a subtree of that size."""
    count = end - start
    if count & (count - 1) == 0:
        level = count.bit_length() - 1
        return subtree(level, start >> level)
    middle = start + _split(count)
    return node_hash(_range_hash(start, middle, subtree), _range_hash(middle, end, subtree))


def _split(count: int) -> int:
    """Return the largest power of two below `count`."""
    return 1 << ((count - 1).bit_length() - 1)


def is_included(leaf: Hash, number: int, size: int, proof: Sequence[Hash], expected: Hash) -> bool:
    """Return whether the proof is valid for a leaf in the tree of `size` entries with the root `expected`."""
    if not 0 <= number < size:
        return False
    position, last, node = number, size - 1, leaf
    for step in proof:
        if last == 0:
            return False
        if position & 1 or position == last:
            node = node_hash(step, node)
            while position & 1 == 0 and position:
                position, last = position >> 1, last >> 1
        else:
            node = node_hash(node, step)
        position, last = position >> 1, last >> 1
    return last == 0 and node == expected


def is_consistent(before: int, size: int, proof: Sequence[Hash], root_before: Hash, expected: Hash) -> bool:
    """Return whether the proof is valid from the first `before` entries to `size` with the root `expected`."""
    if before == size:
        return not proof and root_before == expected
    if not 0 < before < size or not proof:
        return False
    steps = list(proof)
    if before & (before - 1) == 0:
        steps.insert(0, root_before)
    position, last = before - 1, size - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    old = new = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if position & 1 or position == last:
            old, new = node_hash(step, old), node_hash(step, new)
            while position & 1 == 0 and position:
                position, last = position >> 1, last >> 1
        else:
            new = node_hash(new, step)
        position, last = position >> 1, last >> 1
    return last == 0 and old == root_before and new == expected
