"""The arithmetic of the tree: hashes, and the checks a reader makes (RFC 6962, section 2.1; RFC 9162, section 2.1)."""

import hashlib
from collections.abc import Callable, Sequence

Hash = bytes
"""A SHA-256, 32 bytes."""

Subtree = Callable[[int, int], Hash]
"""Returns the hash of the perfect subtree at a level (0: leaves) and position, as it was stored."""

EMPTY: Hash = hashlib.sha256().digest()
"""The root of a tree without entries."""


def leaf_hash(entry: bytes) -> Hash:
    """Return the hash of an entry."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: Hash, right: Hash) -> Hash:
    """Return the hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """A tree in memory: the hash of every perfect subtree, by level and position."""

    def __init__(self) -> None:
        self.nodes: dict[tuple[int, int], Hash] = {}
        self.size = 0

    def append(self, leaf: Hash) -> None:
        """Add the hash of the next entry, and of every subtree it completes."""
        level, position = 0, self.size
        self.nodes[level, position] = leaf
        while position & 1:
            made = node_hash(self.nodes[level, position - 1], self.nodes[level, position])
            level, position = level + 1, position >> 1
            self.nodes[level, position] = made
        self.size += 1

    def subtree(self, level: int, position: int) -> Hash:
        """Return the hash of a perfect subtree of the entries so far."""
        return self.nodes[level, position]


def root(size: int, subtree: Subtree) -> Hash:
    """Return the root of the first `size` entries."""
    return _range_hash(0, size, subtree) if size else EMPTY


def inclusion_proof(number: int, size: int, subtree: Subtree) -> list[Hash]:
    """Return what proves that entry `number` is among the first `size`. Raises ValueError where it is not."""
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
    """Return what proves that the first `before` entries are those of the tree of `size`. Raises ValueError."""
    if not 0 < before <= size:
        raise ValueError("the earlier size must be from 1 to the later one")
    proof: list[Hash] = []
    start, end, whole = 0, size, True
    while before != end:
        middle = start + _split(end - start)
        if before <= middle:
            proof.append(_range_hash(middle, end, subtree))
            end = middle
        else:
            proof.append(_range_hash(start, middle, subtree))
            start, whole = middle, False
    if not whole:
        proof.append(_range_hash(start, end, subtree))
    return proof[::-1]


def _range_hash(start: int, end: int, subtree: Subtree) -> Hash:
    """Return the hash of the entries from `start` to `end`, where `start` is where a subtree of that size may begin."""
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
    """Return whether a proof shows that a leaf is entry `number` of the tree of `size` with this root."""
    if not 0 <= number < size:
        return False
    place, last, found = number, size - 1, leaf
    for step in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = node_hash(step, found)
            while place & 1 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, step)
        place, last = place >> 1, last >> 1
    return last == 0 and found == expected


def is_consistent(before: int, size: int, proof: Sequence[Hash], root_before: Hash, expected: Hash) -> bool:
    """Return whether a proof shows that the tree of `before` entries is the beginning of that of `size`."""
    if before == size:
        return not proof and root_before == expected
    if not 0 < before < size or not proof:
        return False
    steps = list(proof)
    if before & (before - 1) == 0:
        steps.insert(0, root_before)
    place, last = before - 1, size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = steps[0]
    for step in steps[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = node_hash(step, old), node_hash(step, new)
            while place & 1 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, step)
        place, last = place >> 1, last >> 1
    return last == 0 and old == root_before and new == expected
