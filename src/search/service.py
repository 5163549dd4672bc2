"""The query path: a query becomes terms and a vector, both indexes answer, their answers are fused into hits."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from embeddings.base import Embedder, EmbeddingError, Matrix
from search.fusion import MINILM, Flags, Floats, Ranking, Signals, fuse
from search.in_flight import InFlight
from search.index_sync import IndexSync
from search.lexical.concurrent_query import LARGE, ConcurrentLexicalQuery, LexicalQuery
from search.lexical.disk_segment import IndexNotWritten
from search.types import Documents, Filter, Keys, Match, MatchedBy, Mode, RanMode, Relevance
from search.vectors.base import VectorIndex, VectorsUnavailable
from search.vectors.filtered import FilteredNeighbours
from search.vectors.query_vectors import QueryVectors

CANDIDATES = 50
"""How many documents each index contributes to the fusion, at least: 100 and 200 measured no better."""

DEEPEST = 1000
"""How far down the ranking a page may lie."""

_CACHED_CARDS = 4096


class SemanticUnavailable(Exception):
    """Semantic search was insisted on and cannot be had; the message says why."""


class SearchRequest(NamedTuple):
    """One search. `allowed` is the filter, `min_score` the least score (0 to 1) a hit may have."""

    query: str
    limit: int = 10
    offset: int = 0
    mode: Mode = "auto"
    allowed: Filter = Filter()
    min_score: float = 0.0


class Hit(NamedTuple):
    """One document found: `payload` is what the catalog keeps to show for it."""

    key: int
    id: str
    score: float
    relevance: Relevance
    matched_by: tuple[MatchedBy, ...]
    payload: bytes


class Results(NamedTuple):
    """What a search found, best first, and how: `mode` is what really ran, `number` the change it saw last."""

    query: str
    mode: RanMode
    hits: list[Hit]
    warnings: list[str]
    number: int


class Semantic(NamedTuple):
    """An embedder, the name of the space its vectors of our texts make up, and the vectors of that space."""

    embedder: Embedder
    space: str
    vectors: VectorIndex


class SearchService:
    """Answers searches from the indexes a follower keeps current.

    `semantic` returns what embeds queries now, or None where search is by words. A query's vector is waited for
    `fallback_seconds`; after that, or when the embedder fails, words answer and a warning says so.
    """

    def __init__(
        self,
        documents: Documents,
        follower: IndexSync,
        semantic: Callable[[], Semantic | None],
        fallback_seconds: float,
    ) -> None:
        self._documents = documents
        self._follower = follower
        self.in_flight = InFlight()
        self._semantic = semantic
        self._query_vectors = QueryVectors(fallback_seconds)
        self._neighbours = FilteredNeighbours()
        self._read_cards: tuple[int, dict[int, tuple[str, bytes]]] = (-1, {})
        self._words = ConcurrentLexicalQuery()

    def number(self) -> int | None:
        """Return the change number that a search made now would see at once, None where it would have to catch up."""
        number = self._documents.number()
        return number if self._follower.has_reached(number) else None

    def search_at_once(self, request: SearchRequest) -> Results | None:
        """Return what `search` would, or None where that may take more than a few milliseconds.

        That is so when the indexes must catch up, when the query must be embedded by a provider or is long, when
        the vectors are searched by another process, and when the catalog is large.
        """
        number = self.number()
        if number is None or len(self._follower.words.state) >= LARGE:
            return None
        semantic = self._semantic() if request.mode != "keyword" else None
        if semantic is not None and not self._is_quick(semantic, _normal(request.query)):
            return None
        with self.in_flight:
            return self._search(request, number, [])

    def _is_quick(self, semantic: Semantic, query: str) -> bool:
        embedder, space, vectors = semantic
        return not vectors.is_remote and self._query_vectors.come_at_once(embedder, space, query)

    def search(self, request: SearchRequest) -> Results:
        """Return the best documents for a query, of what was committed when the search began.

        Raises SemanticUnavailable when the mode is `semantic` and the query cannot be embedded.
        """
        warnings: list[str] = []
        with self.in_flight:
            try:
                number = self._follower.catch_up()
            except IndexNotWritten:
                number = self._documents.number()
                warnings.append("degraded: the latest changes cannot be indexed just now, and are not found")
            return self._search(request, number, warnings)

    def _search(self, request: SearchRequest, number: int, warnings: list[str]) -> Results:
        query = _normal(request.query)
        semantic = self._semantic() if request.mode != "keyword" else None
        asked = self._asked(request, query)
        by_words = Match.nothing
        if request.mode != "semantic":
            by_words = self._words.begin(asked, beside=semantic is not None and len(asked.words) >= LARGE)
        vector = self._query_vector(semantic, query, request.mode, warnings)
        mode: RanMode = "keyword" if vector is None else "semantic" if request.mode == "semantic" else "hybrid"
        index = semantic.vectors if semantic and vector is not None else None
        try:
            signals = self._signals(asked, by_words, index, vector)
        except VectorsUnavailable as error:
            _go_on_by_words(request.mode, error, warnings)
            mode, signals = "keyword", self._signals(asked, by_words, None, None)
        ranking = fuse(signals, mode)
        return Results(request.query, mode, self._page(ranking, request, number), warnings, number)

    def _asked(self, request: SearchRequest, query: str) -> LexicalQuery:
        depth = min(max(CANDIDATES, request.offset + request.limit), DEEPEST)
        words = self._follower.words.state
        return LexicalQuery(words, query, words.terms(query), depth, request.allowed)

    def _query_vector(self, semantic: Semantic | None, query: str, mode: Mode, warnings: list[str]) -> Matrix | None:
        if mode == "keyword" or (semantic is None and mode == "auto"):
            return None
        try:
            if semantic is None:
                raise EmbeddingError("no embedding model is set up")
            return self._query_vectors.of(semantic.embedder, semantic.space, query)
        except EmbeddingError as error:
            _go_on_by_words(mode, error, warnings)
            return None

    def _signals(
        self, asked: LexicalQuery, by_words: Callable[[], Match], index: VectorIndex | None, vector: Matrix | None
    ) -> Signals:
        near = Match.nothing()
        if index is not None and vector is not None:
            near = self._neighbours.nearest(index, vector, asked.limit, asked.words, asked.allowed)
        exact, prefixed = asked.named()
        found = by_words()
        by_word = set(found.keys.tolist())
        others = [key for key in dict.fromkeys((*near.keys.tolist(), *exact, *prefixed)) if key not in by_word]
        keys = np.concatenate((found.keys, np.array(others, np.int64)))
        return Signals(
            keys=keys,
            words=np.concatenate((found.scores, np.zeros(len(others), np.float32))),
            cosine=_cosines(index, vector, near, keys),
            exact=_flags(keys, exact),
            prefix=_flags(keys, prefixed),
            ceiling=asked.words.ceiling(asked.terms),
            background=index.background() if index is not None else MINILM,
            documents=len(asked.words),
        )

    def _page(self, ranking: Ranking, request: SearchRequest, number: int) -> list[Hit]:
        """Return the hits of the page asked for; those with equal scores stand in order of id, across pages too."""
        count = ranking.at_least(request.min_score)
        start, end = request.offset, min(request.offset + request.limit, count)
        if start >= end:
            return []
        first, last = start, end
        while first > 0 and ranking.score(first - 1) == ranking.score(first):
            first -= 1
        while last < count and ranking.score(last) == ranking.score(last - 1):
            last += 1
        fused = ranking[first:last]
        shown = self._cards([one.key for one in fused], number)
        hits = [
            Hit(one.key, shown[one.key][0], one.score, one.relevance, one.matched_by, shown[one.key][1])
            for one in fused
            if one.key in shown
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        return hits[start - first : end - first]

    def _cards(self, keys: Sequence[int], number: int) -> Mapping[int, tuple[str, bytes]]:
        """Return the cards of these documents, read once while the catalog stands at change `number`."""
        at, known = self._read_cards
        if at != number or len(known) > _CACHED_CARDS:
            self._read_cards = (number, known := {})
        missing = [key for key in keys if key not in known]
        if missing:
            known.update(self._documents.cards(missing))
        return known

    def close(self) -> None:
        """Let the threads go that embed queries and search words."""
        self._query_vectors.close()
        self._words.close()


def _go_on_by_words(mode: Mode, error: Exception, warnings: list[str]) -> None:
    """Say why vectors have no part in a search. Raises SemanticUnavailable where they were insisted on."""
    if mode == "semantic":
        raise SemanticUnavailable(f"Semantic search is unavailable: {error}") from error
    warnings.append(f"degraded: ranked by words only, because {error}")


def _cosines(index: VectorIndex | None, vectors: Matrix | None, near: Match, keys: Keys) -> Floats:
    """Return each document's greatest cosine with any of the vectors, NaN where there is none; shape (len(keys),)."""
    if index is None or vectors is None:
        return np.full(len(keys), np.nan)
    if len(vectors) > 1:  # what is near to one of them may be nearer to another
        return index.cosines(vectors, keys)
    known = dict(zip(near.keys.tolist(), near.scores.tolist(), strict=True))
    cosines = np.array([known.get(key, np.nan) for key in keys.tolist()], np.float32)
    others = np.isnan(cosines)
    cosines[others] = index.cosines(vectors, keys[others])
    return cosines


def _flags(keys: Keys, chosen: Sequence[int]) -> Flags:
    return np.isin(keys, chosen) if chosen else np.zeros(len(keys), np.bool_)


def _normal(query: str) -> str:
    """Return the query without needless white space; line breaks stay, since they may end sentences."""
    return "\n".join(line for part in query.splitlines() if (line := " ".join(part.split())))
