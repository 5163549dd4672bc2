"""Proofs of the tree, compared with hashes computed by the definition; a changed bit makes them invalid."""

import hashlib

import pytest

from registry.transparency.merkle import (
    EMPTY,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    is_included,
    leaf_hash,
    root,
)

ENTRIES = [f"entry {number}".encode() for number in range(1000)]
SIZES = [*range(1, 40), 63, 64, 65, 127, 128, 129, 255, 500, 511, 512, 513, 999, 1000]


def by_definition(entries: list[bytes]) -> bytes:
    """Return the root as RFC 6962, section 2.1, defines it, computed from the entries alone."""
    if not entries:
        return hashlib.sha256(b"").digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\x00" + entries[0]).digest()
    half = 1
    while half * 2 < len(entries):
        half *= 2
    return hashlib.sha256(b"\x01" + by_definition(entries[:half]) + by_definition(entries[half:])).digest()


ROOTS = {size: by_definition(ENTRIES[:size]) for size in {0, *SIZES}}


def subtree(level: int, position: int) -> bytes:
    return by_definition(ENTRIES[position << level : (position + 1) << level])


def flipped(value: bytes, bit: int) -> bytes:
    changed = bytearray(value)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("size", SIZES)
def test_roots_match_the_definition(size: int) -> None:
    assert root(size, subtree) == ROOTS[size]
    assert root(0, subtree) == EMPTY == ROOTS[0]


@pytest.mark.parametrize("size", SIZES)
def test_every_entry_can_be_proved_at_its_place_only(size: int) -> None:
    for number in {0, size // 3, size // 2, size - 1}:
        proof = inclusion_proof(number, size, subtree)
        leaf = leaf_hash(ENTRIES[number])
        assert is_included(leaf, number, size, proof, ROOTS[size])
        assert not is_included(leaf_hash(b"another"), number, size, proof, ROOTS[size])
        assert not any(is_included(leaf, wrong, size, proof, ROOTS[size]) for wrong in (number - 1, number + 1, size))


@pytest.mark.parametrize("size", SIZES)
def test_every_earlier_tree_can_be_proved(size: int) -> None:
    earlier_sizes = {1, 2, 3, size // 2, size - 1, size}
    for before in {earlier for earlier in earlier_sizes if 0 < earlier <= size and earlier in ROOTS}:
        proof = consistency_proof(before, size, subtree)
        assert is_consistent(before, size, proof, ROOTS[before], ROOTS[size])
        assert not is_consistent(before, size, proof, leaf_hash(b"forged"), ROOTS[size])


def test_every_flipped_bit_makes_a_proof_invalid() -> None:
    included = inclusion_proof(77, 129, subtree)
    for index, step in enumerate(included):
        for bit in range(256):
            forged = [*included[:index], flipped(step, bit), *included[index + 1 :]]
            assert not is_included(leaf_hash(ENTRIES[77]), 77, 129, forged, ROOTS[129])
    consistent = consistency_proof(65, 129, subtree)
    for index, step in enumerate(consistent):
        for bit in range(256):
            forged = [*consistent[:index], flipped(step, bit), *consistent[index + 1 :]]
            assert not is_consistent(65, 129, forged, ROOTS[65], ROOTS[129])


def test_a_proof_that_is_too_long_or_too_short_is_invalid() -> None:
    proof = inclusion_proof(5, 12, subtree)
    leaf = leaf_hash(ENTRIES[5])
    assert not is_included(leaf, 5, 12, proof[:-1], ROOTS[12])
    assert not is_included(leaf, 5, 12, [*proof, proof[0]], ROOTS[12])
    between = consistency_proof(5, 12, subtree)
    assert not is_consistent(5, 12, between[:-1], ROOTS[5], ROOTS[12])
    assert not is_consistent(5, 12, [*between, between[0]], ROOTS[5], ROOTS[12])


@pytest.mark.parametrize(("number", "size"), [(-1, 4), (4, 4), (0, 0)])
def test_an_entry_outside_the_tree_has_no_proof(number: int, size: int) -> None:
    with pytest.raises(ValueError, match="among"):
        inclusion_proof(number, size, subtree)
    with pytest.raises(ValueError, match="earlier"):
        consistency_proof(size + 1, size, subtree)
