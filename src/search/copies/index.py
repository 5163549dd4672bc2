"""Near-copies among the documents of a catalog: which skill each of them is a copy of."""

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from search.copies.documents import NO_DOCUMENTS, Documents, Table
from search.copies.likeness import SIGNATURE_WORDS, Signatures, are_copies, description_hashes, name_hashes, signature
from search.types import DocumentGone, DocumentPut, Flags, Keys

_MOST_COMPARED = 64
"""The originals of one name and description that a skill is compared with: no catalog may make it slow."""

_NO_COPY: Signatures = np.zeros(SIGNATURE_WORDS, np.uint64)


class CopyIndex:
    """Knows the near-copies among the documents that were applied. Safe to use from any thread."""

    def __init__(self, keys: Keys, signatures: Signatures) -> None:
        """Begin with documents, in any order."""
        self._lock = threading.Lock()  # of writes: a search reads `_documents` once, and sees all of a batch or none
        self._documents = NO_DOCUMENTS
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
            changed = (self._documents.signatures(keys) != signatures).any(1)
            if changed.any():
                self._documents = _replaced(self._documents, keys[changed], signatures[changed])

    def originals(self, keys: Keys) -> Keys:
        """Return the original of each of some documents: the key of another one, or its own."""
        return self._documents.originals(keys)

    def ranks(self, keys: Keys) -> Collection[list[int]]:
        """Return the positions in `keys` of each skill of which copies are there too, together with those of these."""
        originals = self._documents.originals(keys)
        positions: dict[int, list[int]] = {original: [] for original in originals[originals != keys].tolist()}
        if positions:
            for position, original in enumerate(originals.tolist()):
                if original in positions:
                    positions[original].append(position)
        return positions.values()

    def families(self, keys: Sequence[int]) -> dict[int, list[int]]:
        """Return the original and all copies, ascending, of each of some documents that has copies or is one."""
        documents = self._documents
        originals = documents.originals(np.array(keys, np.int64))
        copies = documents.copies_of(originals)
        members: dict[int, list[int]] = {}
        for copy, original in zip(copies.tolist(), documents.originals(copies).tolist(), strict=True):
            members.setdefault(original, [original]).append(copy)
        return {
            key: sorted(members[original])
            for key, original in zip(keys, originals.tolist(), strict=True)
            if original in members
        }

    def __len__(self) -> int:
        """Return the number of documents that are copies of another one."""
        return self._documents.copies


def _replaced(documents: Documents, keys: Keys, signatures: Signatures) -> Documents:
    """Return the documents with some added or replaced. Copies of what is replaced look for another original."""
    copies = documents.copies_of(keys)
    copies = copies[~np.isin(copies, keys)]
    loose_keys = np.concatenate((keys, copies))
    loose = Table(loose_keys, loose_keys.copy(), np.concatenate((signatures, documents.signatures(copies))))
    table = documents.originals_like(loose.signatures[loose.signatures[:, 0] > 0]).with_others(loose)
    is_loose = np.isin(table.keys, loose_keys)
    _find_originals(table, is_loose)
    return documents.replaced(table if is_loose.all() else table.at(is_loose))


def _find_originals(table: Table, loose: Flags) -> None:
    """Set the originals of the `loose` documents: the first that is no copy itself and of which each is a copy."""
    keys, originals, signatures = table
    names, descriptions = name_hashes(signatures), description_hashes(signatures)
    with_name: dict[int, list[int]] = defaultdict(list)
    with_description: dict[int, list[int]] = defaultdict(list)
    compared = (_is_shared(names) | _is_shared(descriptions)) & (signatures[:, 0] > 0)
    for row in np.concatenate((np.flatnonzero(compared & ~loose), np.flatnonzero(compared & loose))).tolist():
        own = with_name[int(names[row])], with_description[int(descriptions[row])]
        if loose[row] and (others := sorted({*own[0], *own[1]})[:_MOST_COMPARED]):
            alike = np.flatnonzero(are_copies(signatures[row], signatures[others]))
            if len(alike):
                originals[row] = keys[others[int(alike[0])]]
        if originals[row] == keys[row]:
            for rows in own:
                rows.append(row)


def _is_shared(hashes: NDArray[np.int64]) -> Flags:
    _, inverse, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    shared: Flags = counts[inverse] > 1
    return shared
