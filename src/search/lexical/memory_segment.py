"""The documents that changed last, in memory, with the words that the index on disk would keep of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from search.lexical.schema import document_terms, indexed_fields
from search.text import indexed_text
from search.types import Document, Filter, Match

_K1, _B = 1.2, 0.75
_EXACT_LENGTHS = 40
_BLOCK = 8


class MemoryDocument(NamedTuple):
    """A document as it is indexed: how often it has each term, its length, and the values of its other fields."""

    key: int
    counts: Mapping[str, int]
    length: int
    fields: Mapping[str, Sequence[str]]


def fresh_document(document: Document) -> MemoryDocument:
    """Return what is indexed of a document."""
    terms = document_terms(indexed_text(document))
    return MemoryDocument(document.key, Counter(terms), len(terms), indexed_fields(document))


def kept_length(terms: int) -> int:
    """Return the length that tantivy keeps of a document, in one byte: exact up to 40 terms, then rounded down.

    Above that come blocks of eight lengths, each twice as far apart as those before.
    """
    if terms < _EXACT_LENGTHS:
        return terms
    start, step = _EXACT_LENGTHS, 2
    while terms >= start + _BLOCK * step:
        start, step = start + _BLOCK * step, 2 * step
    return start + (terms - start) // step * step


class MemorySegment:
    """A few documents, looked at one by one. It never changes."""

    def __init__(self, documents: Iterable[MemoryDocument] = ()) -> None:
        self._documents = tuple(documents)
        self.length = sum(one.length for one in self._documents)
        """The length of all of them together, in terms."""

    def __len__(self) -> int:
        return len(self._documents)

    def having(self, field: str, value: str) -> int:
        """Return how many documents have a value in a field, or a term in their `text`."""
        if field == "text":
            return sum(value in one.counts for one in self._documents)
        return sum(value in one.fields[field] for one in self._documents)

    def keys(self, allowed: Filter) -> list[int]:
        """Return the keys of the documents that a filter lets through."""
        return [one.key for one in self._passing(allowed)]

    def with_value(self, field: str, value: str, allowed: Filter) -> list[int]:
        """Return the keys of those with a value in a field."""
        return [one.key for one in self._passing(allowed) if value in one.fields[field]]

    def names_with_prefix(self, prefix: str) -> set[str]:
        """Return every name that begins with `prefix`."""
        return {name for one in self._documents for name in one.fields["name"] if name.startswith(prefix)}

    def search(self, weights: Mapping[str, float], mean_length: float, allowed: Filter) -> Match:
        """Return the documents with any of these terms, by BM25 with these weights (idf x (k1 + 1)), in no order."""
        keys, scores = [], []
        for one in self._passing(allowed):
            found = [(one.counts[term], weight) for term, weight in weights.items() if term in one.counts]
            if found:
                norm = _K1 * (1 - _B + _B * kept_length(one.length) / mean_length)
                keys.append(one.key)
                scores.append(sum(weight * count / (count + norm) for count, weight in found))
        return Match(np.array(keys, np.int64), np.array(scores, np.float32))

    def _passing(self, allowed: Filter) -> list[MemoryDocument]:
        return [one for one in self._documents if _passes(one.fields["labels"], allowed)]


def _passes(labels: Sequence[str], allowed: Filter) -> bool:
    return all(any(label in labels for label in group) for group in allowed.groups) and not any(
        label in labels for label in allowed.without
    )


NOTHING_FRESH = MemorySegment()
