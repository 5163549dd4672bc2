"""The query path: a query becomes terms and a vector, both indexes answer, their answers are fused into hits."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import NamedTuple

import numpy as np

from embeddings.base import Embedder, EmbeddingError, Matrix
from search.follower import Follower
from search.fuse import MINILM, Fused, Signals, fuse
from search.text import fold, joined, sentences
from search.types import Documents, Filter, MatchedBy, Mode, RanMode, Relevance
from search.vectors import VectorIndex
from search.words import WordsIndex

CANDIDATES = 100
"""How many documents each index contributes to the fusion, at least."""

DEEPEST = 1000
"""How far down the ranking a page may lie."""

_PREFIXED = 5
_NAMED = 20
_SHORTEST_PREFIX = 3
_CACHED_QUERIES = 4096
_EMBEDDING_THREADS = 4


class SemanticUnavailable(Exception):
    """Semantic search was insisted on and cannot be had; the message says why."""


class Request(NamedTuple):
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
    """What a search found, best first, and how: `mode` is what really ran."""

    query: str
    mode: RanMode
    hits: list[Hit]
    warnings: list[str]


class Semantic(NamedTuple):
    """An embedder, the name of the space its vectors of our texts make up, and the vectors of that space."""

    embedder: Embedder
    space: str
    vectors: VectorIndex


class QueryVectors:
    """The vectors of the latest queries. Safe to use from several threads."""

    def __init__(self, capacity: int = _CACHED_QUERIES) -> None:
        self._vectors: OrderedDict[tuple[str, str], Matrix] = OrderedDict()
        self._capacity = capacity
        self._lock = threading.Lock()

    def get(self, space: str, query: str) -> Matrix | None:
        """Return the vectors of a query in `space` if they are known."""
        with self._lock:
            vector = self._vectors.get((space, query))
            if vector is not None:
                self._vectors.move_to_end((space, query))
            return vector

    def put(self, space: str, query: str, vector: Matrix) -> None:
        """Remember vectors, in place of the one unused for longest when there are too many."""
        with self._lock:
            self._vectors[space, query] = vector
            if len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)


class SearchService:
    """Answers searches from the indexes a follower keeps current.

    `semantic` returns what embeds queries now, or None where search is by words. A query's vector is waited for
    `fallback_seconds`; after that, or when the embedder fails, words answer and a warning says so.
    """

    def __init__(
        self,
        documents: Documents,
        follower: Follower,
        semantic: Callable[[], Semantic | None],
        fallback_seconds: float,
    ) -> None:
        self._documents = documents
        self._follower = follower
        self._semantic = semantic
        self._fallback_seconds = fallback_seconds
        self._vectors = QueryVectors()
        self._allowed: tuple[tuple[int, Filter], Sequence[int] | None] | None = None
        self._threads = ThreadPoolExecutor(_EMBEDDING_THREADS, thread_name_prefix="embed-query")

    def is_quick(self, request: Request) -> bool:
        """Return whether `search` will answer from memory, without embedding the query or catching up."""
        semantic = self._semantic() if request.mode != "keyword" else None
        known = semantic is None or self._vectors.get(semantic.space, _normal(request.query)) is not None
        return known and self._follower.is_current()

    def search(self, request: Request) -> Results:
        """Return the best documents for a query, of what was committed when the search began.

        Raises SemanticUnavailable when the mode is `semantic` and the query cannot be embedded.
        """
        query = _normal(request.query)
        warnings: list[str] = []
        semantic, vector = self._query_vector(query, request.mode, warnings)
        mode: RanMode = "keyword" if vector is None else "semantic" if request.mode == "semantic" else "hybrid"
        self._follower.catch_up()
        signals = self._signals(request, query, mode, semantic.vectors if semantic else None, vector)
        fused = [one for one in fuse(signals, mode) if one.score >= request.min_score]
        return Results(request.query, mode, self._page(fused, request), warnings)

    def _query_vector(self, query: str, mode: Mode, warnings: list[str]) -> tuple[Semantic | None, Matrix | None]:
        semantic = self._semantic()
        if mode == "keyword" or (semantic is None and mode == "auto"):
            return None, None
        try:
            if semantic is None:
                raise EmbeddingError("no embedding model is set up")
            return semantic, self._embed(semantic, query)
        except EmbeddingError as error:
            if mode == "semantic":
                raise SemanticUnavailable(f"Semantic search is unavailable: {error}") from error
            warnings.append(f"degraded: ranked by words only, because {error}")
            return None, None

    def _embed(self, semantic: Semantic, query: str) -> Matrix:
        known = self._vectors.get(semantic.space, query)
        if known is not None:
            return known
        future: Future[Matrix] = self._threads.submit(semantic.embedder.queries, sentences(query))
        # Kept even when it comes too late for this search: the next one with the same words finds it.
        future.add_done_callback(lambda done: self._keep(semantic.space, query, done))
        try:
            return future.result(self._fallback_seconds)
        except FutureTimeoutError:
            raise EmbeddingError(f"the embedding took longer than {self._fallback_seconds:g} s") from None

    def _keep(self, space: str, query: str, done: Future[Matrix]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._vectors.put(space, query, done.result())

    def _signals(
        self, request: Request, query: str, mode: RanMode, index: VectorIndex | None, vector: Matrix | None
    ) -> Signals:
        words, allowed = self._follower.words, request.allowed
        depth = min(max(CANDIDATES, request.offset + request.limit), DEEPEST)
        terms = words.terms(query)
        by_words = dict(words.search(terms, depth, allowed)) if mode != "semantic" else {}
        by_vector = dict(self._nearest(index, vector, depth, words, allowed))
        folded = fold(query)
        exact = words.named(folded, _NAMED, allowed) or words.named(joined(folded), _NAMED, allowed)
        long_enough = len(folded) >= _SHORTEST_PREFIX
        prefixed = words.named_with_prefix(folded, _PREFIXED, allowed) if long_enough else []
        keys = list(dict.fromkeys((*exact, *prefixed, *by_words, *by_vector)))
        return Signals(
            keys=np.array(keys, np.int64),
            words=np.array([by_words.get(key, 0.0) for key in keys], np.float32),
            cosine=index.cosines(vector, keys) if index and vector is not None else np.full(len(keys), np.nan),
            exact=np.isin(keys, exact),
            prefix=np.isin(keys, prefixed),
            ceiling=words.ceiling(terms),
            background=index.background() if index else MINILM,
        )

    def _nearest(
        self, index: VectorIndex | None, vector: Matrix | None, depth: int, words: WordsIndex, allowed: Filter
    ) -> Sequence[tuple[int, float]]:
        if index is None or vector is None:
            return []
        return index.search(vector, depth, self._allowed_keys(words, allowed))

    def _allowed_keys(self, words: WordsIndex, allowed: Filter) -> Sequence[int] | None:
        """Return the keys a filter lets through, or None for all; remembered until the catalog or filter changes."""
        if not words.restricts(allowed):
            return None
        question = (words.number, allowed)
        kept = self._allowed
        if kept is None or kept[0] != question:
            kept = self._allowed = (question, words.keys(allowed))
        return kept[1]

    def _page(self, fused: Sequence[Fused], request: Request) -> list[Hit]:
        """Return the hits of the page asked for; those with equal scores stand in order of id, across pages too."""
        start, end = request.offset, min(request.offset + request.limit, len(fused))
        first, last = start, end
        while 0 < first < end and fused[first - 1].score == fused[first].score:
            first -= 1
        while last < len(fused) and fused[last].score == fused[last - 1].score:
            last += 1
        shown = self._documents.cards([one.key for one in fused[first:last]]) if first < last else {}
        hits = [
            Hit(one.key, shown[one.key][0], one.score, one.relevance, one.matched_by, shown[one.key][1])
            for one in fused[first:last]
            if one.key in shown
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        return hits[start - first : end - first]

    def close(self) -> None:
        """Stop embedding queries."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _normal(query: str) -> str:
    """Return the query without needless white space; line breaks stay, since they may end sentences."""
    return "\n".join(line for part in query.splitlines() if (line := " ".join(part.split())))
