"""Near-copies among the documents of a catalog: which skill each of them is a copy of."""

import threading
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from search.copies.documents import NO_DOCUMENTS, Documents, Table
from search.copies.likeness import SIGNATURE_WORDS, Signatures, signature
from search.copies.originals import find_originals
from search.types import DocumentGone, DocumentPut, Keys, among

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
    copies = copies[~among(copies, keys)]
    loose_keys = np.concatenate((keys, copies))
    loose = Table(loose_keys, loose_keys, np.concatenate((signatures, documents.signatures(copies))))
    loose = loose.at(np.argsort(loose_keys))
    can_be_copies = loose.signatures[:, 0] > 0
    compared = loose.at(can_be_copies)
    settled = documents.originals_like(compared.signatures)
    settled = settled.at(~among(settled.keys, loose_keys))
    originals = find_originals(
        np.concatenate((settled.keys, compared.keys)),
        np.concatenate((settled.signatures, compared.signatures)),
        len(settled.keys),
    )
    compared = compared._replace(originals=originals[len(settled.keys) :])
    return documents.replaced(loose.at(~can_be_copies).with_others(compared))
