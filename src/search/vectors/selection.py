"""Which vectors of the IVF segment may be found."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.types import Keys

BIT = np.left_shift(np.uint8(1), np.arange(8, dtype=np.uint8))
"""The bit of a key within its byte, by the key modulo 8."""


class Selection(NamedTuple):
    """The vectors of an IVF segment that may be found: one bit per key from 0 on, and their number in each cluster."""

    bits: NDArray[np.uint8]
    counts: NDArray[np.int64]

    @classmethod
    def empty(cls) -> "Selection":
        """Return the selection of no vectors."""
        return cls(np.empty(0, np.uint8), np.empty(0, np.int64))

    def total(self) -> int:
        """Return the number of selected vectors."""
        return int(self.counts.sum())

    def contains(self, keys: Keys) -> NDArray[np.bool_]:
        """Return for each key whether it is selected; shape (len(keys),)."""
        in_range = (keys >= 0) & (keys < 8 * len(self.bits))
        clamped = np.where(in_range, keys, 0)
        return in_range & (self.bits[clamped >> 3] & BIT[clamped & 7] != 0) if len(self.bits) else in_range

    def keys(self) -> Keys:
        """Return the selected keys, ascending."""
        return np.flatnonzero(np.unpackbits(self.bits, bitorder="little"))
