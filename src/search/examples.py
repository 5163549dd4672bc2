"""Learning from use: what the example queries of a skill do to its vector and to its keyword score.

An example is a query for which a user chose the skill. Examples pull the skill's vector towards their centroid, their
words count as evidence, and the example that is most like a query votes for its skill. Queries are nearer to queries
than to descriptions, so skills with examples would rank above skills without any use yet. Two corrections prevent
that. Both grow with the agreement of a skill's examples, which is what each of them would have gained from the others:
a skill whose examples have nothing in common gains little, and must not sink for it.

The constants were chosen with half of MetaTool's example queries as uses and the other half as queries, and with the
queries that were written for real skills (docs/decisions/2026-11-23-learning-from-use.md).
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embeddings.base import Matrix, Vector, unit_vector
from search.fusion import Gains, Scores
from search.identifiers import MARK
from search.lexical.concurrent_query import LexicalQuery
from search.lexical.schema import query_terms
from search.types import Document, DocumentGone, DocumentPut, Example, Keys

MORE_CANDIDATES = 20
"""The number of documents that only the words of examples found and that the fusion considers too."""

_PRIOR_USES = 3.0  # a description weighs as much in a vector as three uses
_WORD_PRIOR = 2.0  # uses without a word that are added to those of a skill
_WORD_WEIGHT = 0.25  # the words of examples against those of the skill itself
_VOTE_WEIGHT = 0.3  # an example with exactly the words of the query, as a share of the highest keyword score
_MEAN_AGREEMENT = 0.03  # of one more example with the others, before they say more: one alone has none to agree with
_VECTOR_LEAD = 4.0  # what agreement adds to a cosine, in standard deviations, against what it adds to that share
_MIN_DEAD_ROWS = 256  # rows of replaced examples that are kept whatever their share

_Rows = NDArray[np.intp]


def vector_with_examples(description: Vector, examples: Matrix, weights: Sequence[float]) -> Vector:
    """Return the unit vector of a document from those of its description and its examples, shape (dim,)."""
    return unit_vector(_PRIOR_USES * description + np.asarray(weights, np.float32) @ examples)


class _Used(NamedTuple):
    """The examples of one document: for each, whether it contains each of `terms`; shape (examples, terms)."""

    terms: Sequence[str]
    contains: NDArray[np.bool_]
    weights: Scores

    @classmethod
    def of(cls, examples: Sequence[Example]) -> "_Used":
        """Analyze examples."""
        each = [query_terms(example.text) for example in examples]
        columns = {term: column for column, term in enumerate(dict.fromkeys(term for terms in each for term in terms))}
        contains = np.zeros((len(each), len(columns)), np.bool_)
        for row, terms in zip(contains, each, strict=True):
            row[[columns[term] for term in terms]] = True
        return cls(list(columns), contains, np.array([example.weight for example in examples], np.float64))

    @property
    def lengths(self) -> Scores:
        """The number of terms of each example, at least 1."""
        lengths: Scores = np.maximum(self.contains.sum(1), 1).astype(np.float64)
        return lengths

    def agreement(self) -> float:
        """Return what an example would gain from the others on average, if all of its terms weighed the same."""
        has, lengths, weights = self.contains.astype(np.float64), self.lengths, self.weights[:, None]
        others = np.maximum(self.weights @ has - weights * has, 0.0)
        words = (has * _word_weights(others, self.weights.sum() - weights)).sum(1) / lengths
        votes = (has @ has.T) ** 2 / np.outer(lengths, lengths) * np.minimum(self.weights, 1.0)
        np.fill_diagonal(votes, 0.0)
        gained = float(np.mean(words + _VOTE_WEIGHT * votes.max(1)))
        others_of_each = len(self.weights) - 1
        return (gained * others_of_each + _MEAN_AGREEMENT) / (others_of_each + 1)


def _word_weights(uses_with: Scores, uses: Scores) -> Scores:
    """Return the weight of words that occur in so many of the uses."""
    weights: Scores = _WORD_WEIGHT * np.sqrt(uses_with / (uses + _WORD_PRIOR))
    return weights


class _State(NamedTuple):
    """All examples at one revision; immutable. A row is an example, a slot a document with examples.

    Rows of examples that were replaced have the weight 0 until they are half of all.
    """

    slots: dict[int, int]
    """The slot of each document, by key."""
    postings: dict[str, _Rows]
    """The rows of the examples that contain a term."""
    row_slots: _Rows
    row_weights: Scores
    row_lengths: Scores
    keys: Keys
    """The key of each slot."""
    uses: Scores
    """The weights of each slot's examples together."""
    agreement: Scores

    @classmethod
    def empty(cls) -> "_State":
        """Return the state without examples."""
        none = np.empty(0, np.float64)
        return cls({}, {}, np.empty(0, np.intp), none, none, np.empty(0, np.int64), none, none)


class Matched(NamedTuple):
    """What examples say about a query: the keyword evidence of each slot, as a share of the highest keyword score."""

    state: _State
    evidence: Scores

    def best(self, count: int) -> list[int]:
        """Return the keys of the documents whose examples match best."""
        slots = np.flatnonzero(self.evidence)
        order = np.lexsort((self.state.keys[slots], -self.evidence[slots]))[:count]
        keys: list[int] = self.state.keys[slots[order]].tolist()
        return keys

    def gains(self, keys: Keys) -> Gains:
        """Return what examples add to the signals of these documents; 0 without examples."""
        state = self.state
        slots = np.array([state.slots.get(key, -1) for key in keys.tolist()], np.intp)
        used = slots >= 0
        rows = slots[used]
        coverage, z = np.zeros(len(keys)), np.zeros(len(keys))
        coverage[used] = self.evidence[rows] - state.agreement[rows]
        z[used] = -_VECTOR_LEAD * state.agreement[rows]
        return Gains(coverage, z)


class ExampleIndex:
    """The words of all examples, in memory. Safe to search from any thread while changes are applied."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._lock = threading.Lock()
        used = {document.key: _Used.of(document.examples) for document in documents if document.examples}
        self._state = _with_documents(_State.empty(), used)

    def __len__(self) -> int:
        """Return the number of documents with examples."""
        return len(self._state.slots)

    def apply(self, changes: Iterable[DocumentPut | DocumentGone]) -> None:
        """Replace the examples of changed documents."""
        examples: dict[int, Sequence[Example]] = {}
        for change in changes:
            if isinstance(change, DocumentPut):
                examples[change.document.key] = change.document.examples
            else:
                examples[change.key] = ()
        put = {key: _Used.of(each) for key, each in examples.items() if each}
        with self._lock:
            replaced = [key for key in examples if key in self._state.slots]
            if put or replaced:
                self._state = _with_documents(_without_documents(self._state, replaced), put)

    def match(self, shares: Mapping[str, float]) -> Matched:
        """Return what examples say about a query.

        `shares` has each term's share of the highest keyword score that the query could reach.
        """
        state = self._state
        term_shares = {term: share for term, share in shares.items() if term in state.postings}
        if not term_shares:
            return Matched(state, np.zeros(len(state.keys)))
        postings = [state.postings[term] for term in term_shares]
        counts = [len(rows) for rows in postings]
        weights, rows = np.array(list(term_shares.values())), np.concatenate(postings)
        return Matched(state, _words(state, rows, weights, counts) + _votes(state, rows, np.repeat(weights, counts)))


def _words(state: _State, rows: _Rows, shares: Scores, counts: Sequence[int]) -> Scores:
    """Return the evidence of the words that the examples of each slot have in common with a query."""
    slots = len(state.keys)
    cells = np.repeat(np.arange(len(counts)) * slots, counts) + state.row_slots[rows]
    uses_with: Scores = np.bincount(cells, state.row_weights[rows], len(counts) * slots).astype(np.float64)
    evidence: Scores = np.dot(shares, _word_weights(uses_with.reshape(len(counts), slots), state.uses))
    return evidence


def _votes(state: _State, rows: _Rows, shares: Scores) -> Scores:
    """Return the vote of each slot's example that is most like a query.

    That is the share of the query's words that the example has, times the share of its own words that the query has.
    """
    size = len(state.row_slots)
    shared, covered = np.bincount(rows, minlength=size), np.bincount(rows, shares, size)
    hits = np.flatnonzero(shared)
    alike = covered[hits] * shared[hits] / state.row_lengths[hits] * np.minimum(state.row_weights[hits], 1.0)
    votes = np.zeros(len(state.keys))
    np.maximum.at(votes, state.row_slots[hits], alike)
    return _VOTE_WEIGHT * votes


def _without_documents(state: _State, keys: Sequence[int]) -> _State:
    slots = dict(state.slots)
    gone = [slots.pop(key) for key in keys]
    if not gone:
        return state
    weights = np.where(np.isin(state.row_slots, gone), 0.0, state.row_weights)
    changed = state._replace(slots=slots, row_weights=weights)
    dead = len(weights) - np.count_nonzero(weights)
    return _without_dead(changed) if dead > max(_MIN_DEAD_ROWS, len(weights) // 2) else changed


def _without_dead(state: _State) -> _State:
    rows = state.row_weights > 0
    slots = np.zeros(len(state.keys), np.bool_)
    slots[list(state.slots.values())] = True
    new_row, new_slot = np.cumsum(rows) - 1, np.cumsum(slots) - 1
    postings = {term: new_row[old[rows[old]]] for term, old in state.postings.items() if rows[old].any()}
    return _State(
        slots={key: int(new_slot[slot]) for key, slot in state.slots.items()},
        postings=postings,
        row_slots=new_slot[state.row_slots[rows]],
        row_weights=state.row_weights[rows],
        row_lengths=state.row_lengths[rows],
        keys=state.keys[slots],
        uses=state.uses[slots],
        agreement=state.agreement[slots],
    )


def _with_documents(state: _State, used: Mapping[int, _Used]) -> _State:
    first_row, first_slot = len(state.row_slots), len(state.keys)
    new_rows: dict[str, list[int]] = {}
    row = first_row
    for document in used.values():
        for example, column in zip(*np.nonzero(document.contains), strict=True):
            new_rows.setdefault(document.terms[column], []).append(row + int(example))
        row += len(document.weights)
    none = np.empty(0, np.intp)
    added = {term: np.append(state.postings.get(term, none), rows) for term, rows in new_rows.items()}
    each = list(used.values())
    slots = range(first_slot, first_slot + len(each))
    return _State(
        slots={**state.slots, **dict(zip(used, slots, strict=True))},
        postings={**state.postings, **added},
        row_slots=np.append(state.row_slots, np.repeat(np.array(slots, np.intp), [len(use.weights) for use in each])),
        row_weights=np.concatenate((state.row_weights, *(use.weights for use in each))),
        row_lengths=np.concatenate((state.row_lengths, *(use.lengths for use in each))),
        keys=np.append(state.keys, np.array(list(used), np.int64)),
        uses=np.append(state.uses, [use.weights.sum() for use in each]),
        agreement=np.append(state.agreement, [use.agreement() for use in each]),
    )


def match_examples(index: ExampleIndex, query: LexicalQuery) -> Matched | None:
    """Return what examples say about a query; None if no document has examples.

    The same misspelled word may be in an example, so the words count as they are written too.
    """
    return index.match(_shares(query, query.spelling.written) | _shares(query, query.terms)) if index else None


def _shares(query: LexicalQuery, terms: Mapping[str, float]) -> dict[str, float]:
    """Return the share that each term has of the highest keyword score that all of them could reach."""
    terms = {term: weight for term, weight in terms.items() if not term.startswith(MARK)}
    highest = query.reader.ceiling(terms)
    return {term: query.reader.ceiling({term: weight}) / highest for term, weight in terms.items()}


def allowed_matches(matched: Matched | None, query: LexicalQuery) -> list[int]:
    """Return the keys of the documents whose examples match best and that pass the filter of the query."""
    best = [] if matched is None else matched.best(MORE_CANDIDATES)
    return sorted(query.reader.filter_keys(np.array(best, np.int64), query.allowed).tolist()) if best else []
