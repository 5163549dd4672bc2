"""Near-copies among the documents of a catalog: which skill each of them is a copy of."""

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from search.copies.likeness import SIGNATURE_WORDS, Signatures, are_copies, description_hashes, name_hashes, signature
from search.types import DocumentGone, DocumentPut, Flags, Keys

_MOST_COMPARED = 64
"""The originals of one name and description that a skill is compared with: no catalog may make it slow."""

_FEW = 64
"""Changed documents up to which all with their names are looked at, instead of sorting the names of the catalog."""

_NO_COPY: Signatures = np.zeros(SIGNATURE_WORDS, np.uint64)


class _Table(NamedTuple):
    """Documents by ascending key: `keys` and `originals` of shape (documents,), and their signatures.

    The original of a document is the key of the skill that it is a copy of, or its own. `copied` are the originals that
    have copies, `is_of_family` is true for these and their copies, and `copies` is the number of the latter.
    """

    keys: Keys
    originals: Keys
    signatures: Signatures
    copied: frozenset[int]
    is_of_family: Flags
    copies: int


class CopyIndex:
    """Knows the near-copies among the documents that were applied. Safe to use from any thread."""

    def __init__(self, keys: Keys, signatures: Signatures) -> None:
        """Begin with documents, in any order."""
        none = np.empty(0, np.int64)
        self._lock = threading.Lock()
        self._table = _Table(none, none, np.empty((0, SIGNATURE_WORDS), np.uint64), frozenset(), none > 0, 0)
        self._put(keys, signatures)

    def apply(self, changes: Iterable[DocumentPut | DocumentGone]) -> None:
        """Apply changes of documents, at most one of each."""
        latest = {
            change.document.key if isinstance(change, DocumentPut) else change.key: (
                signature(change.document) if isinstance(change, DocumentPut) else _NO_COPY
            )
            for change in changes
        }
        if latest:
            self._put(np.array(list(latest), np.int64), np.stack(list(latest.values())))

    def _put(self, keys: Keys, signatures: Signatures) -> None:
        with self._lock:
            old = self._table
            changed = ~_has(old, keys, signatures)
            if changed.any():
                self._table = _replaced(old, keys[changed], signatures[changed])

    def originals(self, keys: Keys) -> Keys:
        """Return the original of each of some documents: the key of another one, or its own."""
        table = self._table
        if not table.copied:
            return keys
        rows = np.minimum(np.searchsorted(table.keys, keys), len(table.keys) - 1)
        return np.where(table.keys[rows] == keys, table.originals[rows], keys)

    def ranks(self, keys: Keys) -> Collection[list[int]]:
        """Return the positions in `keys` of each skill that has copies, together with those of its copies."""
        table = self._table
        if not table.copied:
            return ()
        rows = np.minimum(np.searchsorted(table.keys, keys), len(table.keys) - 1)
        found = np.flatnonzero(table.is_of_family[rows] & (table.keys[rows] == keys))
        positions: dict[int, list[int]] = {}
        for position, original in zip(found.tolist(), table.originals[rows[found]].tolist(), strict=True):
            positions.setdefault(original, []).append(position)
        return positions.values()

    def families(self, keys: Sequence[int]) -> dict[int, list[int]]:
        """Return the original and all copies, ascending, of each of some documents that has copies or is one."""
        table, originals = self._table, self.originals(np.array(keys, np.int64)).tolist()
        return {
            key: table.keys[table.originals == original].tolist()
            for key, original in zip(keys, originals, strict=True)
            if original in table.copied
        }

    def __len__(self) -> int:
        """Return the number of documents that are copies of another one."""
        return self._table.copies


def _has(table: _Table, keys: Keys, signatures: Signatures) -> Flags:
    """Return which of some documents the table has with the same signature. One that is no copy need not be in it."""
    rows = np.minimum(np.searchsorted(table.keys, keys), max(len(table.keys) - 1, 0))
    if not len(table.keys):
        return np.zeros(len(keys), np.bool_)
    same: Flags = (table.keys[rows] == keys) & (table.signatures[rows] == signatures).all(1)
    return same


def _replaced(old: _Table, keys: Keys, signatures: Signatures) -> _Table:
    """Return the table with some documents added or replaced. Copies of what is replaced look for another original."""
    all_keys, originals, signed = old.keys, old.originals, old.signatures
    if (kept := ~np.isin(all_keys, keys)).all():  # only new ones: no copy of all that is there
        loosened = np.zeros(len(all_keys), np.bool_)
    else:
        all_keys, originals, signed = all_keys[kept], originals[kept], signed[kept]
        loosened = np.isin(originals, keys)
        originals[loosened] = all_keys[loosened]
    all_keys, originals = np.concatenate((all_keys, keys)), np.concatenate((originals, keys))
    signed, loose = np.concatenate((signed, signatures)), np.concatenate((loosened, np.ones(len(keys), np.bool_)))
    if (all_keys[1:] < all_keys[:-1]).any():
        order = np.argsort(all_keys)
        all_keys, originals, signed, loose = all_keys[order], originals[order], signed[order], loose[order]
    _find_originals(all_keys, originals, signed, loose)
    copied = originals[originals != all_keys]
    return _Table(
        all_keys, originals, signed, frozenset(copied.tolist()), np.isin(originals, np.unique(copied)), len(copied)
    )


def _find_originals(keys: Keys, originals: Keys, signatures: Signatures, loose: Flags) -> None:
    """Set the originals of the `loose` documents: the first that is no copy itself and of which each is a copy."""
    names, descriptions = name_hashes(signatures), description_hashes(signatures)
    with_name: dict[int, list[int]] = defaultdict(list)
    with_description: dict[int, list[int]] = defaultdict(list)
    for row in _related(names, descriptions, loose & (signatures[:, 0] > 0)).tolist():
        own = with_name[int(names[row])], with_description[int(descriptions[row])]
        if loose[row] and (others := sorted({*own[0], *own[1]})[:_MOST_COMPARED]):
            alike = np.flatnonzero(are_copies(signatures[row], signatures[others]))
            if len(alike):
                originals[row] = keys[others[int(alike[0])]]
        if originals[row] == keys[row]:
            for rows in own:
                rows.append(row)


def _related(names: Keys, descriptions: Keys, loose: Flags) -> NDArray[np.intp]:
    """Return the rows with the name or the description of a `loose` one, those that are not loose first."""
    related = np.zeros(len(names), np.bool_)
    for hashes in (names, descriptions):
        with_same = np.isin(hashes, hashes[loose])
        related |= with_same & _is_shared(hashes) if np.count_nonzero(loose) > _FEW else with_same
    return np.concatenate((np.flatnonzero(related & ~loose), np.flatnonzero(related & loose)))


def _is_shared(hashes: Keys) -> Flags:
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    shared: Flags = counts[inverse] > 1
    return shared
