"""A reader of the keyword index at one revision: BM25, exact names and labels over both segments."""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np
import tantivy

from search.copies.likeness import Signatures
from search.identifiers import MARK, first_identifiers, identifier_weight
from search.lexical.dictionary import Dictionary
from search.lexical.memory_segment import EMPTY_SEGMENT, MemorySegment, term_scores
from search.lexical.schema import NAME_FIELDS, SCHEMA, SIGNATURE_FIELDS, has_key, query_terms
from search.text import QUERY_TERMS, remove_spaces
from search.types import Filter, Keys, Match, among

_K1_PLUS_1 = 2.2
_QUERY = tantivy.Query
_MAX_LABELLED = 50
"""How many documents with an excluded label a search drops after it. With more, the deeper search would take longer."""

_MAX_LABELS = 32
"""How many sets of excluded labels are remembered with their documents."""

_MAX_WITH_IDENTIFIER = 50
"""An identifier that more documents have says no more than its words."""

_MAX_QUERY_IDENTIFIERS = 32

_MAX_FREQUENCIES = 20_000
"""How many terms of queries are remembered with their frequencies, some 200 bytes each."""

_NO_KEYS: Keys = np.empty(0, np.int64)
_ALL_DOCUMENTS = _QUERY.exists_query("key")
_MUST, _MUST_NOT, _SHOULD = tantivy.Occur.Must, tantivy.Occur.MustNot, tantivy.Occur.Should


class DiskReader:
    """One commit of the on-disk segment. Immutable and safe to use from any thread."""

    def __init__(self, searcher: tantivy.Searcher) -> None:
        self.searcher = searcher
        self.document_count = searcher.num_docs
        """The number of documents."""
        self.all_documents = max(1, self.document_count)
        """The limit of a search for any number of documents. tantivy accepts no 0."""
        self._labelled: dict[tuple[str, ...], Keys | None] = {}
        """The keys with any of some labels, which nearly all searches exclude."""
        self._frequencies: dict[tuple[str, str], int] = {}

    @functools.cached_property
    def mean_length(self) -> float:
        """The mean document length in terms. tantivy exposes it only in the explanation of a score."""
        for term, _ in self.searcher.terms_with_prefix("text", "", limit=1):
            query = _QUERY.term_query(SCHEMA, "text", term, "freq")
            for _, address in self.searcher.search(query, 1, count=False).hits:
                explanation = msgspec.json.decode(query.explain(self.searcher, address).to_json(), type=_Explanation)
                return next(explanation.values("avgdl"))
        return 0.0

    def keys_labelled(self, labels: tuple[str, ...]) -> Keys | None:
        """Return the keys of the documents with any of the labels; None if they are many."""
        if labels not in self._labelled:
            if len(self._labelled) >= _MAX_LABELS:
                self._labelled = {}
            many = sum(self.document_frequency("labels", label) for label in labels) > _MAX_LABELLED
            each = () if many else map(self._keys_with_label, labels)
            self._labelled[labels] = None if many else np.concatenate([_NO_KEYS, *each])
        return self._labelled[labels]

    def _keys_with_label(self, label: str) -> Keys:
        hits = self.searcher.search(_exact_query("labels", label), self.all_documents, count=False).hits
        return np.array(self.searcher.fast_field_values("key", [address for _, address in hits]), np.int64)

    def signatures(self) -> tuple[Keys, Signatures]:
        """Return the keys of all documents, unordered, and their signatures."""
        hits = self.searcher.search(_ALL_DOCUMENTS, self.all_documents, count=False).hits
        addresses = [address for _, address in hits]
        key, *words = (self.searcher.fast_field_values(field, addresses) for field in ("key", *SIGNATURE_FIELDS))
        return np.array(key, np.int64), np.array(words, np.uint64).reshape(len(words), len(key)).T

    def document_frequency(self, field: str, value: str) -> int:
        """Return the number of documents with a value. A search asks several times, and the index is slower."""
        frequency = self._frequencies.get((field, value))
        if frequency is None:
            if len(self._frequencies) >= _MAX_FREQUENCIES:
                self._frequencies = {}
            frequency = self._frequencies[field, value] = self.searcher.doc_freq(field, value)
        return frequency

    def existing(self, keys: Iterable[int]) -> list[int]:
        """Return those of the keys that belong to a document."""
        return [key for key in keys if has_key(self.searcher, key)]


class _Explanation(msgspec.Struct):
    value: float
    description: str
    details: "list[_Explanation]" = []

    def values(self, name: str) -> Iterator[float]:
        if self.description.startswith(name):
            yield self.value
        for detail in self.details:
            yield from detail.values(name)


class LexicalReader:
    """The documents of both segments at `revision`: those on disk without the `replaced` keys, and those in memory.

    Immutable and safe to use from any thread. Scores are those of one index of all documents.
    """

    def __init__(
        self, revision: int, disk: DiskReader, replaced: Sequence[int] = (), memory: MemorySegment = EMPTY_SEGMENT
    ) -> None:
        self.revision = revision
        self._disk = disk
        self._searcher = disk.searcher
        self._memory = memory
        self._replaced_keys = np.array(replaced, np.int64)
        self._replaced = _QUERY.term_set_query(SCHEMA, "key", list(replaced)) if replaced else None
        self._total = disk.document_count + len(memory)
        self._count = self._total - len(replaced)
        self.dictionary = Dictionary(disk.searcher, memory)

    def __len__(self) -> int:
        """Return the number of documents that searches can find."""
        return self._count

    def terms(self, query: str) -> dict[str, float]:
        """Return the terms of a query with their weights: the square root of how often the query has the term.

        Of a long query, return the 48 terms that weigh most: a term that is rare in the documents, or frequent in the
        query, says more than one that merely comes first.
        """
        terms = query_terms(query)
        if len(terms) > QUERY_TERMS:
            best = sorted(terms, key=lambda term: terms[term] * self._selectivity(term), reverse=True)[:QUERY_TERMS]
            terms = {term: terms[term] for term in best}
        return terms | self.identifiers(query)

    def identifiers(self, text: str) -> dict[str, float]:
        """Return the identifiers of a text that few documents have, as terms with their weights.

        The fewer documents have an identifier, the more it weighs beyond its idf. The only one that has it comes first.
        What is a part of another, such as the name of a file in a path, counts once.
        """
        weights: dict[str, float] = {}
        for identifier in first_identifiers([text], _MAX_QUERY_IDENTIFIERS):
            count = self.frequency(MARK + identifier)
            if 0 < count <= _MAX_WITH_IDENTIFIER and not any(identifier in whole for whole in weights):
                weights[MARK + identifier] = identifier_weight(identifier) / math.sqrt(count)
        return weights

    def _selectivity(self, term: str) -> float:
        """Return the idf of a term; 0 if no document has it, because such a term must not take the place of others."""
        return self._idf(term) if self.is_known(term) else 0.0

    def is_known(self, term: str) -> bool:
        """Return whether some document contains a term."""
        return self.frequency(term) > 0

    def frequency(self, term: str) -> int:
        """Return the number of documents that contain a term."""
        return self._documents_with(*_field_of(term))

    def search(self, terms: Mapping[str, float], limit: int, allowed: Filter, *, count: bool = False) -> Match:
        """Return the best documents for weighted `terms` by BM25, best first; none if there are no terms.

        `count` counts all that match too, which takes up to the time of the search again in large catalogs.
        """
        if not terms:
            return Match.empty()
        on_disk = self._best_on_disk(self._any_of(terms), limit, allowed, count=count)
        if not self._memory:
            return on_disk
        in_memory = self._memory.search(self._weights(terms), self._mean_length, allowed)
        keys = np.concatenate((on_disk.keys, in_memory.keys))
        scores = np.concatenate((on_disk.scores, in_memory.scores))
        best = np.argsort(-scores, kind="stable")[:limit]
        total = None if on_disk.total is None else on_disk.total + len(in_memory.keys)
        return Match(keys[best], scores[best], total)

    def _any_of(self, terms: Mapping[str, float]) -> tantivy.Query:
        return _QUERY.boolean_query([(_SHOULD, self._term_query(term, weight)) for term, weight in terms.items()])

    def term_scores(self, terms: Mapping[str, float], counts: Mapping[str, int], length: int) -> dict[str, float]:
        """Return what each term adds to the score of a document with these term counts and this length in terms."""
        return term_scores(self._weights(terms), counts, length, self._mean_length)

    def _weights(self, terms: Mapping[str, float]) -> dict[str, float]:
        return {term: _K1_PLUS_1 * self._idf(term) * weight for term, weight in terms.items()}

    @property
    def _mean_length(self) -> float:
        return (self._disk.mean_length * self._disk.document_count + self._memory.total_length) / self._total

    def _term_query(self, term: str, weight: float) -> tantivy.Query:
        """Return the query for a term, boosted on disk by its weight, and to the idf that it has in both segments."""
        if term.startswith(MARK):
            return _QUERY.const_score_query(_exact_query(*_field_of(term)), _K1_PLUS_1 * self._idf(term) * weight)
        query = _QUERY.term_query(SCHEMA, "text", term, "freq")
        if self._memory and (on_disk := self._disk.document_frequency("text", term)):
            weight *= self._idf(term) / _idf(self._disk.document_count, on_disk)
        return query if weight == 1 else _QUERY.boost_query(query, weight)

    def _idf(self, term: str) -> float:
        return _idf(self._total, self.frequency(term))

    def _documents_with(self, field: str, value: str) -> int:
        """Return the number of documents with a value. Replaced documents still count."""
        on_disk = self._disk.document_frequency(field, value)
        return on_disk + self._memory.document_frequency(field, value) if self._memory else on_disk

    def keys_by_name(self, folded: str, limit: int, allowed: Filter, *, joined: bool = True) -> list[int]:
        """Return the keys of documents with the folded full id or name `folded`, ascending.

        Without any, return those with the name when spaces are removed, if `joined`.
        """
        by_id, by_name, joined_name = NAME_FIELDS
        keys = {
            *self._keys_with_value(by_id, folded, limit, allowed),
            *self._keys_with_value(by_name, folded, limit, allowed),
        }
        if keys or not joined:
            return sorted(keys)[:limit]
        return self._keys_with_value(joined_name, remove_spaces(folded), limit, allowed)

    def _keys_with_value(self, field: str, name: str, limit: int, allowed: Filter) -> list[int]:
        if not self._documents_with(field, name):
            return []
        on_disk = self._search_disk(_exact_query(field, name), limit, allowed).keys.tolist()
        return sorted(on_disk + self._memory.keys_with_value(field, name, allowed))[:limit]

    def keys_by_name_prefix(self, folded: str, limit: int, allowed: Filter) -> list[int]:
        """Return the keys of documents with a name that begins with `folded`, shortest names first."""
        names = {name for name, _ in self._searcher.terms_with_prefix("name", folded, limit=4 * limit)}
        names |= self._memory.names_with_prefix(folded)
        keys: dict[int, None] = {}
        for name in sorted(names, key=lambda name: (len(name), name))[:limit]:
            keys.update(dict.fromkeys(self._keys_with_value("name", name, limit, allowed)))
        return list(keys)[:limit]

    def keys_with_terms(self, terms: Iterable[str], limit: int, allowed: Filter) -> list[int]:
        """Return the keys of at most `limit` documents that contain all terms, unordered."""
        clauses = [(_MUST, _QUERY.term_query(SCHEMA, "text", term, "freq")) for term in terms]
        on_disk: list[int] = self._search_disk(_QUERY.boolean_query(clauses), limit, allowed).keys.tolist()
        return (on_disk + self._memory.keys_with_terms(terms, allowed))[:limit]

    def keys(self, allowed: Filter) -> Keys:
        """Return the keys of all documents that pass a filter, unordered."""
        on_disk = self._search_disk(_ALL_DOCUMENTS, self._disk.all_documents, allowed).keys
        return _concatenate(on_disk, self._memory.keys(allowed))

    def count(self, allowed: Filter) -> int:
        """Return the number of documents that pass a filter."""
        result = self._searcher.search(self._filtered(_ALL_DOCUMENTS, allowed), 1, count=True)
        return int(result.count) + len(self._memory.keys(allowed))  # type: ignore[attr-defined]  # missing in the stubs

    def filter_keys(self, keys: Keys, allowed: Filter) -> Keys:
        """Return those of `keys` that pass a filter, unordered."""
        query = _QUERY.term_set_query(SCHEMA, "key", np.unique(keys).tolist())
        in_memory = np.intersect1d(keys, np.array(self._memory.keys(allowed), np.int64))
        return _concatenate(self._search_disk(query, max(1, len(keys)), allowed).keys, in_memory)

    def rejected_keys(self, allowed: Filter) -> Keys | None:
        """Return the keys of all documents that a filter rejects, unordered; None if they may be many."""
        labelled = self._labelled_keys(allowed)
        if labelled is None or not (self._memory or len(self._replaced_keys)):
            return labelled
        in_memory = {
            key for label in allowed.excluded for key in self._memory.keys_with_value("labels", label, Filter())
        }
        return _concatenate(np.setdiff1d(labelled, self._replaced_keys), sorted(in_memory))

    def ceiling(self, terms: Mapping[str, float]) -> float:
        """Return the upper bound of BM25 scores for weighted `terms`: (k1 + 1) x the sum of idf x weight.

        Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with tantivy's k1 = 1.2 and idf.
        """
        return _K1_PLUS_1 * sum(self._idf(term) * weight for term, weight in terms.items())

    def _filtered(self, query: tantivy.Query, allowed: Filter) -> tantivy.Query:
        clauses = [(_MUST, query)]
        for group in allowed.groups:
            options = [(_SHOULD, _exact_query("labels", label)) for label in group]
            clauses.append((_MUST, _QUERY.const_score_query(_QUERY.boolean_query(options), 0.0)))
        clauses += [
            (_MUST_NOT, _exact_query("labels", label))
            for label in allowed.excluded
            if self._disk.document_frequency("labels", label)
        ]
        if self._replaced is not None:
            clauses.append((_MUST_NOT, self._replaced))
        return _QUERY.boolean_query(clauses) if len(clauses) > 1 else query

    def _best_on_disk(self, query: tantivy.Query, limit: int, allowed: Filter, *, count: bool) -> Match:
        """Return what `_search_disk` returns. If few documents are excluded, they are dropped after the search.

        That is faster, because tantivy skips documents that cannot be among the best only without exclusions. It skips
        none if it counts.
        """
        labelled = self._labelled_keys(allowed)
        if labelled is None:
            return self._search_disk(query, limit, allowed, count=count)
        excluded = np.concatenate((self._replaced_keys, labelled))
        if count and len(excluded):
            return self._search_disk(query, limit, allowed, count=True)
        matches = self._matched(query, limit + len(excluded), count=count)
        if not len(excluded):
            return matches
        return matches.at(~among(matches.keys, excluded)).first(limit)

    def _labelled_keys(self, rejecting: Filter) -> Keys | None:
        """Return the keys of the documents on disk that a filter rejects; None if it has groups or rejects many."""
        return None if rejecting.groups else self._disk.keys_labelled(rejecting.excluded)

    def _search_disk(self, query: tantivy.Query, limit: int, allowed: Filter, *, count: bool = False) -> Match:
        """Return the best documents on disk, best first."""
        return self._matched(self._filtered(query, allowed), limit, count=count)

    def _matched(self, query: tantivy.Query, limit: int, *, count: bool) -> Match:
        result = self._searcher.search(query, limit, count=count)
        hits = result.hits  # a new list of new objects at each access
        keys = self._searcher.fast_field_values("key", [address for _, address in hits])
        scores = np.array([score for score, _ in hits], np.float32)
        total = result.count if count else None  # type: ignore[attr-defined]  # missing in the stubs
        return Match(np.array(keys, np.int64), scores, total)


def _concatenate(on_disk: Keys, in_memory: Sequence[int] | Keys) -> Keys:
    return np.concatenate((on_disk, np.array(in_memory, np.int64))) if len(in_memory) else on_disk


def _exact_query(field: str, value: str) -> tantivy.Query:
    return _QUERY.term_query(SCHEMA, field, value, "basic")


def _field_of(term: str) -> tuple[str, str]:
    """Return the field that contains a term, and its value there."""
    return ("identifier", term[len(MARK) :]) if term.startswith(MARK) else ("text", term)


def _idf(documents: int, document_frequency: int) -> float:
    """Return the inverse document frequency of a term, by tantivy's formula."""
    return math.log1p((documents - min(document_frequency, documents) + 0.5) / (document_frequency + 0.5))
