"""The in-memory segment of the keyword index: the latest changes, scored as the on-disk segment would score them."""

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from search.identifiers import MARK
from search.lexical.schema import document_terms, indexed_fields
from search.text import indexed_text
from search.types import Document, Filter, Match

_K1, _B = 1.2, 0.75
_EXACT_LENGTHS = 40
_BLOCK = 8


class MemoryDocument(NamedTuple):
    """An indexed document: its term frequencies, its length in terms, and the values of its untokenized fields.

    Its identifiers are terms too, without length.
    """

    key: int
    term_counts: Mapping[str, int]
    length: int
    fields: Mapping[str, Collection[str]]


def memory_document(document: Document) -> MemoryDocument:
    """Return the indexed form of a document."""
    terms = document_terms(indexed_text(document))
    fields = indexed_fields(document)
    wholes = dict.fromkeys((MARK + identifier for identifier in fields["identifier"]), 1)
    return MemoryDocument(document.key, Counter(terms) | wholes, len(terms), fields)


def quantized_length(terms: int) -> int:
    """Return the document length as tantivy stores it, in one byte: exact up to 40 terms, then rounded down.

    Above 40 terms, each block of eight values has twice the step of the block before it.
    """
    if terms < _EXACT_LENGTHS:
        return terms
    start, step = _EXACT_LENGTHS, 2
    while terms >= start + _BLOCK * step:
        start, step = start + _BLOCK * step, 2 * step
    return start + (terms - start) // step * step


def term_scores(
    weights: Mapping[str, float], counts: Mapping[str, int], length: int, mean_length: float
) -> dict[str, float]:
    """Return the BM25 score of each term that a document contains. `weights` has idf x (k1 + 1) of each term.

    An identifier scores its whole weight.
    """
    norm = _K1 * (1 - _B + _B * quantized_length(length) / mean_length)
    return {
        term: weight if term.startswith(MARK) else weight * counts[term] / (counts[term] + norm)
        for term, weight in weights.items()
        if term in counts
    }


class MemorySegment:
    """A few documents, searched one by one. Immutable."""

    def __init__(self, documents: Iterable[MemoryDocument] = ()) -> None:
        self._documents = tuple(documents)
        self.total_length = sum(document.length for document in self._documents)
        """The length of all documents together, in terms."""

    def __len__(self) -> int:
        return len(self._documents)

    def document_frequency(self, field: str, value: str) -> int:
        """Return the number of documents with a value in a field, or with a term in the field `text`."""
        if field == "text":
            return sum(value in document.term_counts for document in self._documents)
        return sum(value in document.fields[field] for document in self._documents)

    @functools.cached_property
    def words(self) -> Mapping[str, int]:
        """The number of documents that contain each word of the dictionary."""
        return Counter(word for document in self._documents for word in document.fields["word"])

    def keys(self, allowed: Filter) -> list[int]:
        """Return the keys of the documents that pass a filter."""
        return [document.key for document in self._allowed(allowed)]

    def keys_with_value(self, field: str, value: str, allowed: Filter) -> list[int]:
        """Return the keys of the documents with a value in a field that pass a filter."""
        return [document.key for document in self._allowed(allowed) if value in document.fields[field]]

    def keys_with_terms(self, terms: Iterable[str], allowed: Filter) -> list[int]:
        """Return the keys of the documents with all terms that pass a filter."""
        term_set = set(terms)
        return [document.key for document in self._allowed(allowed) if term_set <= document.term_counts.keys()]

    def names_with_prefix(self, prefix: str) -> set[str]:
        """Return all names that begin with `prefix`."""
        return {name for document in self._documents for name in document.fields["name"] if name.startswith(prefix)}

    def search(self, weights: Mapping[str, float], mean_length: float, allowed: Filter) -> Match:
        """Return the documents that contain any of the terms, unordered, scored by BM25.

        `weights` has the weight of each term: idf x (k1 + 1).
        """
        keys, scores = [], []
        for document in self._allowed(allowed):
            matched = term_scores(weights, document.term_counts, document.length, mean_length)
            if matched:
                keys.append(document.key)
                scores.append(sum(matched.values()))
        return Match(np.array(keys, np.int64), np.array(scores, np.float32))

    def _allowed(self, allowed: Filter) -> list[MemoryDocument]:
        return [document for document in self._documents if _passes(document.fields["labels"], allowed)]


def _passes(labels: Collection[str], allowed: Filter) -> bool:
    return all(any(label in labels for label in group) for group in allowed.groups) and not any(
        label in labels for label in allowed.excluded
    )


EMPTY_SEGMENT = MemorySegment()
