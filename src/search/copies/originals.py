"""Which documents are copies of which: of many at once what comes out if they are read one after the other.

A document is a copy of an original that it is like, and an original itself if there is none. So it is decided after all
before it that share its name or its description. Those that wait for no other are decided together, in rounds: a new
original is compared at once with all that follow in its groups, and a copy among these has nothing more to wait for.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from search.copies.likeness import Signatures, are_copies, description_hashes, name_hashes
from search.types import Flags, Keys, distinct

_Rows = NDArray[np.intp]

MOST_COMPARED = 64
"""The originals of one name, and of one description, with which others are compared: no catalog may make it slow."""

_PAIRS_AT_ONCE = 100_000
"""Pairs of documents that are compared in one call, of 150 bytes each."""

_NONE = np.iinfo(np.int64).max


def find_originals(keys: Keys, signatures: Signatures, settled: int) -> Keys:
    """Return the key of the original of each document, its own for a document that is no copy; shape (documents,).

    The documents are read in the order of the arrays. The first `settled` of them are known to be no copies. Of several
    originals that a document is like, it has the one with the lowest key.
    """
    if len(keys) < 2:  # most single writes
        return keys
    groups = [_Groups(hashes) for hashes in (name_hashes(signatures), description_hashes(signatures))]
    originals = np.full(len(keys), _NONE)
    is_decided = np.zeros(len(keys), np.bool_)
    rows = np.arange(len(keys))
    heads = np.flatnonzero((rows < settled) | (groups[0].are_next(rows) & groups[1].are_next(rows)))
    while len(heads):
        # No original before these is like them: they are originals.
        is_decided[heads] = True
        decided = [heads]
        # Documents that follow them, and are like them, are copies.
        for group in groups:
            for pairs in group.followers(heads):
                firsts, followers = pairs[:, (pairs[1] >= settled) & (keys[pairs[0]] < originals[pairs[1]])]
                alike = are_copies(signatures[firsts], signatures[followers])
                copies = followers[alike]
                np.minimum.at(originals, copies, keys[firsts[alike]])
                decided.append(copies[~is_decided[copies]])
                is_decided[copies] = True
        # Documents that waited only for those that are decided now are next.
        waiting = np.concatenate([group.heads(np.concatenate(decided), is_decided) for group in groups])
        waiting = distinct(waiting[~is_decided[waiting]])
        heads = waiting[groups[0].are_next(waiting) & groups[1].are_next(waiting)]
    return np.where(originals == _NONE, keys, originals)


class _Groups:
    """Documents by a hash, and in each group the first that is not decided."""

    def __init__(self, hashes: NDArray[np.int64]) -> None:
        """Begin with no document decided. `hashes` has that of each document."""
        self._members: _Rows = np.argsort(hashes, kind="stable")
        ordered = hashes[self._members]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(hashes) else self._members
        sizes = np.diff(starts, append=len(hashes))
        self._heads, self._ends = starts, starts + sizes  # places in `_members`, of each group
        self._originals = np.zeros(len(starts), np.intp)
        self._is_full = np.zeros(len(starts), np.bool_)
        self._places, self._group = np.empty_like(self._members), np.empty_like(self._members)  # of each document
        self._places[self._members] = np.arange(len(hashes))
        self._group[self._members] = np.repeat(np.arange(len(starts)), sizes)

    def are_next(self, rows: _Rows) -> Flags:
        """Return which documents wait for no other of their group: its first, and all after the last compared one."""
        groups = self._group[rows]
        flags: Flags = self._is_full[groups] | (self._heads[groups] == self._places[rows])
        return flags

    def followers(self, originals: _Rows) -> Iterator[_Rows]:
        """Yield pairs of a new original and a document after it in its group, shape (2, pairs).

        New originals of one group are its next ones. After the last that a group compares, there are no pairs.
        """
        ascending = np.sort(self._places[originals])
        groups = self._group[self._members[ascending]]
        numbers = self._originals[groups] + np.arange(len(groups)) - np.searchsorted(groups, groups)
        np.add.at(self._originals, groups, 1)
        compared = ascending[numbers < MOST_COMPARED]
        ends = self._ends[groups[numbers < MOST_COMPARED]]
        for which, places in _ranges(compared + 1, ends):
            yield self._members[np.stack((compared[which], places))]

    def heads(self, decided: _Rows, is_decided: Flags) -> _Rows:
        """Return the first of each group that is not decided, after some of its documents were.

        Once a group has all originals that it compares, no other waits for it: these are returned too, once.
        """
        groups = distinct(self._group[decided])
        passing = groups
        while len(passing):
            passing = passing[self._heads[passing] < self._ends[passing]]
            passing = passing[is_decided[self._members[self._heads[passing]]]]
            self._heads[passing] += 1
        heads, ends = self._heads[groups], self._ends[groups]
        becomes_full = (self._originals[groups] >= MOST_COMPARED) & ~self._is_full[groups]
        self._is_full[groups[becomes_full]] = True
        ends = np.where(becomes_full, ends, np.minimum(heads + 1, ends))
        rows: _Rows = self._members[np.concatenate([heads[:0], *(places for _, places in _ranges(heads, ends))])]
        return rows


def _ranges(starts: _Rows, ends: _Rows) -> Iterator[tuple[_Rows, _Rows]]:
    """Yield the numbers in ranges, together with the number of the range that each is of, some at a time."""
    lasts = np.cumsum(ends - starts)
    total = int(lasts[-1]) if len(lasts) else 0
    for first in range(0, total, _PAIRS_AT_ONCE):
        numbers = np.arange(first, min(first + _PAIRS_AT_ONCE, total))
        which = np.searchsorted(lasts, numbers, side="right")
        yield which, ends[which] - lasts[which] + numbers
