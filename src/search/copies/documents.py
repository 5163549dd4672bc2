"""The documents of the index of copies: many in lookups by hash, and those that changed since in a small table.

A write makes a new table of the changed ones and shares the lookups, so it takes time for these, and for the documents
that it looks up, instead of for the whole catalog. When many have changed, new lookups are made of all. Nothing here is
ever changed in place: a search that holds `Documents` sees one state of them.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.copies.likeness import SIGNATURE_WORDS, Signatures, description_hashes, name_hashes
from search.types import Flags, Keys, among, distinct

_Rows = NDArray[np.intp]
_Lookup = NDArray[np.uint64]
"""Pairs of a value and a row, ascending: the value in the upper 32 bits, the row of a document that has it below."""

_LEAST_CHANGED, _CHANGED_PER_ROOT = 512, 8
"""How many documents may have changed since the lookups were made: at least, and times the root of their number.

A write copies the changed ones, and new lookups copy all. In this proportion, both add about as much to a write.
"""

_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


class Table(NamedTuple):
    """Documents by ascending key: `keys` and `originals` of shape (documents,), and their signatures.

    The original of a document is the key of the skill that it is a copy of, or its own.
    """

    keys: Keys
    originals: Keys
    signatures: Signatures

    def rows(self, keys: Keys) -> tuple[_Rows, Flags]:
        """Return the rows of some documents, and which of them the table has: the rows of others mean nothing."""
        if not len(self.keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), np.bool_)
        rows = np.minimum(self.keys.searchsorted(keys), len(self.keys) - 1)
        return rows, self.keys[rows] == keys

    def at(self, rows: _Rows | Flags) -> "Table":
        """Return some of the documents, by rows or flags."""
        return Table(self.keys[rows], self.originals[rows], self.signatures[rows])

    def with_others(self, others: "Table") -> "Table":
        """Return the documents of both tables, of which `others` may be in any order: they replace those of this."""
        if not len(self.keys) and (others.keys[1:] > others.keys[:-1]).all():
            return others
        keys = np.concatenate((self.keys, others.keys))
        order = np.argsort(keys, kind="stable")
        ascending, latest = keys[order], np.ones(len(keys), np.bool_)
        latest[:-1] = ascending[1:] != ascending[:-1]
        rows = order[latest]
        originals = np.concatenate((self.originals, others.originals))
        return Table(keys[rows], originals[rows], np.concatenate((self.signatures, others.signatures))[rows])


_NONE = Table(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, SIGNATURE_WORDS), np.uint64))


class _Lookups(NamedTuple):
    """Documents that can be copies, and their rows by the hash of the name and description and the original's row."""

    table: Table
    by_name: _Lookup
    by_description: _Lookup
    by_original: _Lookup


class Documents(NamedTuple):
    """All documents: `lookups` of those that had been there, `changed` ones since, and how many `copies` there are.

    A changed document replaces that of the lookups. One that is gone, or can be no copy, has a signature of zeros.
    """

    lookups: _Lookups
    changed: Table
    copies: int

    def originals(self, keys: Keys) -> Keys:
        """Return the original of each of some documents: the key of another one, or its own."""
        if not self.copies:
            return keys
        originals = keys
        for table in (self.lookups.table, self.changed):
            if len(table.keys):
                rows, has_row = table.rows(keys)
                originals = np.where(has_row, table.originals[rows], originals)
        return originals

    def signatures(self, keys: Keys) -> Signatures:
        """Return the signature of each of some documents, zeros for one that is not known."""
        signatures = np.zeros((len(keys), SIGNATURE_WORDS), np.uint64)
        for table in (self.lookups.table, self.changed):
            rows, has_row = table.rows(keys)
            signatures[has_row] = table.signatures[rows[has_row]]
        return signatures

    def copies_of(self, keys: Keys) -> Keys:
        """Return all copies of some documents."""
        table, changed = self.lookups.table, self.changed
        rows, has_row = table.rows(keys)
        copies = table.keys[_rows_with(self.lookups.by_original, rows[has_row])]
        of_changed = among(changed.originals, keys) & (changed.originals != changed.keys)
        return np.concatenate((copies[~changed.rows(copies)[1]], changed.keys[of_changed]))

    def originals_like(self, signatures: Signatures) -> Table:
        """Return the documents that are no copies and have the name or the description of one of some others."""
        names, descriptions = name_hashes(signatures), description_hashes(signatures)
        by_name, by_description = self.lookups.by_name, self.lookups.by_description
        rows = np.concatenate((_rows_with(by_name, names), _rows_with(by_description, descriptions)))
        table, since = self.lookups.table, self.changed
        before = table.at(distinct(rows[table.originals[rows] == table.keys[rows]]))
        alike = among(name_hashes(since.signatures), names)
        alike |= among(description_hashes(since.signatures), descriptions)
        both = before.at(~since.rows(before.keys)[1]).with_others(since.at(alike & (since.signatures[:, 0] > 0)))
        return both.at(both.originals == both.keys)

    def replaced(self, others: Table) -> "Documents":
        """Return the documents with `others` added or replaced."""
        had = np.count_nonzero(self.originals(others.keys) != others.keys)
        copies = self.copies - int(had) + int(np.count_nonzero(others.originals != others.keys))
        changed, table = self.changed.with_others(others), self.lookups.table
        if len(changed.keys) <= max(_LEAST_CHANGED, _CHANGED_PER_ROOT * math.isqrt(len(table.keys))):
            return Documents(self.lookups, changed, copies)
        return Documents(_lookups(table.with_others(changed)), _NONE, copies)


def _lookups(table: Table) -> _Lookups:
    can_be_copies = table.signatures[:, 0] > 0
    if not can_be_copies.all():
        table = table.at(can_be_copies)
    rows, copies = np.arange(len(table.keys)), np.flatnonzero(table.originals != table.keys)
    return _Lookups(
        table,
        _lookup(name_hashes(table.signatures), rows),
        _lookup(description_hashes(table.signatures), rows),
        _lookup(np.searchsorted(table.keys, table.originals[copies]), copies),
    )


def _lookup(values: Keys, rows: _Rows) -> _Lookup:
    return np.sort(values.astype(np.uint64) << _HALF | rows.astype(np.uint64))


def _rows_with(lookup: _Lookup, values: Keys) -> _Rows:
    """Return the rows that have one of some values."""
    least = distinct(values).astype(np.uint64) << _HALF
    ends = np.searchsorted(lookup, least | _LOW, side="right")
    counts = ends - np.searchsorted(lookup, least)
    places = np.repeat(ends - np.cumsum(counts), counts) + np.arange(counts.sum())
    return (lookup[places] & _LOW).astype(np.intp)


NO_DOCUMENTS = Documents(_lookups(_NONE), _NONE, 0)
