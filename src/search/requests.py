"""What a search asks for and what it finds."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from search.explanation import Explanation
from search.lexical.spelled_prompt import SpelledPrompt
from search.modes import MatchedBy, Mode, RanMode, Relevance
from search.totals import Total
from search.types import Filter, Named


class SemanticUnavailable(Exception):
    """The request requires semantic search, which is not available. The message says why."""


class SearchRequest(NamedTuple):
    """A search request. `allowed` is the filter, `min_score` the minimum score of a hit, in [0, 1].

    `explain` adds an explanation to every hit. With `groups`, near-copies share a place. Without `weak`, hits of low
    relevance are left out. `order` returns the keys of all other hits in another order than that of their scores.
    `named` returns the documents that the query names by where they are, None if it is no address.
    """

    query: str
    limit: int = 10
    offset: int = 0
    mode: Mode = "auto"
    allowed: Filter = Filter()
    min_score: float = 0.0
    explain: bool = False
    groups: bool = True
    weak: bool = True
    order: Callable[[Sequence[int]], Sequence[int]] | None = None
    named: Callable[[], Named | None] | None = None


LISTED_COPIES = 20
"""The copies of a hit that are named."""


class Copies(NamedTuple):
    """The other skills that share the place of a hit: how many, and keys and ids of the first, oldest first."""

    number: int = 0
    keys: Sequence[int] = ()
    ids: Sequence[str] = ()

    @classmethod
    def of(cls, keys: Sequence[int], cards: Mapping[int, tuple[str, bytes]]) -> "Copies":
        """Return the copies with these keys, of which the first have cards."""
        listed = [key for key in keys[:LISTED_COPIES] if key in cards]
        return cls(len(keys), listed, [cards[key][0] for key in listed])


class Hit(NamedTuple):
    """A document that was found. `payload` is the catalog's encoded card of it."""

    key: int
    id: str
    score: float
    relevance: Relevance
    matched_by: tuple[MatchedBy, ...]
    payload: bytes
    explanation: Explanation | None = None
    copies: Copies = Copies()


class Results(NamedTuple):
    """The hits of a search, best first. `mode` is the mode that ran, `revision` the last change that it saw.

    `total` counts the hits of all pages. `embedded` is the number of documents that have a vector, None if unknown.
    `prompt` is the query as it was searched.
    """

    query: str
    mode: RanMode
    hits: list[Hit]
    warnings: list[str]
    revision: int
    total: Total
    embedded: int | None
    documents: int
    prompt: SpelledPrompt
