"""The query path: both indexes are searched with the query's terms and vectors, and fusion ranks the candidates."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np

from embeddings.base import Embedder, EmbeddingError, Matrix
from search.examples import allowed_matches, match_examples
from search.explainer import explain
from search.fusion import MINILM, Ranking, Signals, fuse
from search.in_flight import InFlight
from search.index_sync import IndexSync
from search.lexical.concurrent_query import LARGE, ConcurrentLexicalQuery, LexicalQuery
from search.lexical.disk_segment import IndexWriteError
from search.lexical.reader import LexicalReader
from search.lexical.spelled_prompt import SpelledPrompt, spell_prompt
from search.lexical.spelling import Spelling
from search.modes import Mode, RanMode
from search.names import best_named
from search.pages import page_of
from search.places import Places, is_installed, with_one_place
from search.prompt.divisions import divisions
from search.prompt.pastes import READ_WHOLE
from search.prompt.reading import Prompt
from search.relevance import lifted
from search.requests import LISTED_COPIES, Copies, Hit, Results, SearchRequest, SemanticUnavailable
from search.text import fold
from search.totals import Counted
from search.two_requests import Divided, least_alike, with_both
from search.types import Described, Documents, Filter, Flags, Keys, Match, among
from search.vectors.base import VectorIndex, VectorsUnavailable
from search.vectors.cosines import candidate_cosines
from search.vectors.filtered import FilteredNeighbours
from search.vectors.query_vectors import QueryVectors

CANDIDATES = 100
"""The minimum number of documents that the vectors contribute to the fusion."""

KEYWORD_CANDIDATES = 200
"""The minimum number that the words contribute beside vectors: what only those found would have no keyword score."""

DEEPEST = 1000
"""The lowest rank that a page may contain."""

_MAX_CACHED_CARDS = 4096
_FIRST_QUERY = "skill"


class Semantic(NamedTuple):
    """The parts of semantic search: an embedder, the name of the space of its document vectors, and their index."""

    embedder: Embedder
    space: str
    vectors: VectorIndex


class SearchService:
    """Searches the indexes that `index_sync` keeps current.

    `semantic` returns the semantic search to use now, or None for keyword search only. If embedding the query fails or
    takes longer than `fallback_seconds`, keyword search answers with a warning. Documents that pass `verified` and have
    a scope in their id own their names: they come before others of the same name. Documents that `lowered` excludes
    come after others that fit as well.
    """

    def __init__(
        self,
        documents: Documents,
        index_sync: IndexSync,
        semantic: Callable[[], Semantic | None],
        fallback_seconds: float,
        verified: Filter | None = None,
        lowered: Filter | None = None,
    ) -> None:
        self._documents = documents
        self._verified = verified
        self._lowered = lowered
        self._index_sync = index_sync
        self.in_flight = InFlight()
        self._semantic = semantic
        self._query_vectors = QueryVectors(fallback_seconds)
        self._neighbours = FilteredNeighbours()
        self._card_cache: tuple[int, dict[int, tuple[str, bytes]]] = (-1, {})
        self._lexical_queries = ConcurrentLexicalQuery()
        self._last_query: tuple[int, SpelledPrompt] = (
            -1,
            SpelledPrompt("", Prompt("", ""), Spelling("", "", {}, {}), {}),
        )

    def load_model(self) -> None:
        """Load a local model, which the first search would wait for otherwise. Searches report a failure themselves."""
        semantic = self._semantic()
        if semantic is not None and semantic.embedder.provider == "local":
            with contextlib.suppress(EmbeddingError):
                self._query_vectors.get(semantic.embedder, semantic.space, _FIRST_QUERY)

    def synced_revision(self) -> int | None:
        """Return the catalog's revision if the indexes have reached it, else None."""
        revision = self._documents.revision()
        return revision if self._index_sync.has_reached(revision) else None

    def last_revision(self) -> int:
        """Return the revision that the indexes have reached, without reading the catalog."""
        return self._index_sync.reached()

    def search_nowait(self, request: SearchRequest) -> Results | None:
        """Return the results of `search`, or None if they may take more than a few milliseconds.

        That is the case if the indexes must sync, if the query is long or a provider must embed it, if another process
        searches the vectors, if the catalog is large, and if hits are explained.
        """
        revision = self.synced_revision()
        is_long = request.explain or len(request.query) > READ_WHOLE
        if revision is None or is_long or len(self._index_sync.lexical.reader) >= LARGE:
            return None
        semantic = self._semantic() if request.mode != "keyword" else None
        is_remote = semantic is not None and semantic.vectors.is_remote
        if is_remote or (semantic and not self._query_vectors.is_fast(*semantic[:2], self._text(request))):
            return None
        with self.in_flight:
            return self._search(request, revision, [])

    def waits_for_others(self, request: SearchRequest) -> bool:
        """Return whether a search waits for a provider, another process, or a model that is being loaded."""
        semantic = self._semantic() if request.mode != "keyword" else None
        if semantic is None or semantic.vectors.is_remote:
            return semantic is not None
        if len(request.query) > READ_WHOLE:
            return semantic.embedder.provider != "local"
        return not self._query_vectors.is_local(*semantic[:2], self._text(request))

    def search(self, request: SearchRequest) -> Results:
        """Return the best documents for a query, including all changes committed before the call.

        Raises SemanticUnavailable if the mode is `semantic` and the query cannot be embedded.
        """
        warnings: list[str] = []
        with self.in_flight:
            try:
                revision = self._index_sync.sync()
            except IndexWriteError:
                revision = self._documents.revision()
                warnings.append("degraded: the latest changes cannot be indexed at the moment and are not found")
            return self._search(request, revision, warnings)

    def _search(self, request: SearchRequest, revision: int, warnings: list[str]) -> Results:
        semantic, request = self._prepared(request, warnings)
        lexical_query = self._lexical_query(request, only_words=semantic is None)
        keyword_match = Match.empty
        if request.mode != "semantic":
            keyword_match = lexical_query.search if semantic is None else self._started(lexical_query)
        vectors = self._embed_query(semantic, lexical_query.prompt, request.mode, warnings)
        index = semantic.vectors if semantic and vectors is not None else None
        embedded, divided, depth = None, None, _depth(request, CANDIDATES)
        mode: RanMode = "keyword" if index is None else "semantic" if request.mode == "semantic" else "hybrid"
        try:
            if index is not None:
                self._index_sync.check_vectors(index, revision)
            embedded = None if index is None else index.count_at(revision)
            if embedded == 0 and request.mode != "semantic":
                mode, index = "keyword", None
            divided = self._start_sides(lexical_query, semantic) if semantic and mode == "hybrid" else None
            signals = self._signals(lexical_query, keyword_match, index, vectors, depth, revision)
        except VectorsUnavailable as error:
            self._index_sync.follow_vectors()
            _fall_back_to_keywords(request.mode, error, warnings)
            mode, index, divided = "keyword", None, None
            signals = self._signals(lexical_query, keyword_match, None, None, 0, revision)
        ranking = fuse(signals, mode)
        if divided is not None and not ranking.has_named:
            halves = [
                fuse(self._signals(part, match, index, vector, depth, revision), mode)
                for part, match, vector in divided.searches
            ]
            ranking = with_both(ranking, halves, divided.sides)
        places, left_out = self._places(ranking, request, lexical_query, mode, revision)
        places = lifted(places, lexical_query, self._documents.cards)
        hits = page_of(places, request, lambda keys: self._cards(keys, revision))
        if request.groups:
            hits = self._with_copies(hits, ranking, lexical_query, revision)
        if request.explain:
            hits = self._explained(hits, lexical_query, signals, mode)
        if _depth(request, CANDIDATES) > CANDIDATES:  # deeper hits would change the total from page to page
            first = request._replace(limit=1, offset=0, explain=False, order=None)
            total = self._search(first, revision, []).total
        else:
            copies = len(self._index_sync.copies) if request.groups else 0
            counted = Counted(places, left_out, lexical_query, signals, mode, depth, copies)
            total = counted.total(request.min_score)
        documents = len(lexical_query.reader)
        return Results(request.query, mode, hits, warnings, revision, total, embedded, documents, lexical_query.prompt)

    def _text(self, request: SearchRequest) -> str:
        """Return the text of a request that is embedded."""
        return self._spelled(self._index_sync.lexical.reader, request).spelling.text

    def _spelled(self, reader: LexicalReader, request: SearchRequest) -> SpelledPrompt:
        """Return the query as it is searched. The last one is kept, because one search asks several times."""
        revision, spelled = self._last_query
        semantic = self._semantic()
        glossary = None if semantic is None else self._query_vectors.glossary(semantic.embedder, request.query)
        is_untranslated = glossary is not None and not spelled.english
        if revision != reader.revision or spelled.query != request.query or is_untranslated:
            spelled = spell_prompt(reader, request.query, self._described, glossary)
            self._last_query = reader.revision, spelled
        return spelled

    def _described(self, keys: Sequence[int]) -> dict[int, Described]:
        """Return the names and descriptions of documents by key."""
        cards = self._documents.cards(keys)
        return {key: msgspec.json.decode(payload, type=Described) for key, (_, payload) in cards.items()}

    def _lexical_query(self, request: SearchRequest, *, only_words: bool) -> LexicalQuery:
        reader = self._index_sync.lexical.reader
        depth = _depth(request, KEYWORD_CANDIDATES)
        counts_all = only_words and not request.min_score and len(reader) < LARGE
        spelled = self._spelled(reader, request)
        return LexicalQuery(reader, spelled, depth, request.allowed, counts_all, request.named)

    def _prepared(self, request: SearchRequest, warnings: list[str]) -> tuple[Semantic | None, SearchRequest]:
        """Return the semantic search, None for words alone, and the request as it is answered."""
        semantic = self._semantic() if request.mode != "keyword" else None
        try:
            if semantic is not None:
                self._query_vectors.prepare(semantic.embedder, request.query)
        except EmbeddingError as error:
            _fall_back_to_keywords(request.mode, error, warnings)
            return None, request._replace(mode="keyword")
        return semantic, request

    def _embed_query(
        self, semantic: Semantic | None, prompt: SpelledPrompt, mode: Mode, warnings: list[str]
    ) -> Matrix | None:
        if mode == "keyword" or (semantic is None and mode == "auto"):
            return None
        try:
            if semantic is None:
                raise EmbeddingError("no embedding model is configured")
            return self._query_vectors.get(*semantic[:2], prompt.spelling.text, prompt.english)
        except EmbeddingError as error:
            _fall_back_to_keywords(mode, error, warnings)
            return None

    def _signals(
        self,
        query: LexicalQuery,
        keyword_match: Callable[[], Match],
        index: VectorIndex | None,
        vectors: Matrix | None,
        depth: int,
        revision: int,
    ) -> Signals:
        near = Match.empty()
        if index is not None and vectors is not None:
            near = self._neighbours.nearest(index, vectors, depth, query.reader, query.allowed)
        named, prefixed, meant, placed = query.match_names()
        best = (self._best_named(query, name, keys, revision) for name, keys in named.items())
        exact = [*chain(*best), *placed]
        if len(meant) > 1:
            meant = self._best_named(query, fold(query.spelling.text), meant, revision)
        matched = keyword_match()
        matched_keys = set(matched.keys.tolist())
        used = match_examples(self._index_sync.examples, query)
        more = (*near.keys.tolist(), *exact, *prefixed, *allowed_matches(used, query))
        others = [key for key in dict.fromkeys(more) if key not in matched_keys]
        keys = np.concatenate((matched.keys, np.array(others, np.int64)))
        return Signals(
            keys=keys,
            bm25=np.concatenate((matched.scores, np.zeros(len(others), np.float32))),
            cosine=candidate_cosines(index, vectors, near, keys),
            exact=among(keys, exact),
            prefix=among(keys, prefixed),
            ceiling=query.reader.ceiling(query.spelling.ceiling),
            null=index.null_distribution() if index is not None else MINILM,
            documents=len(query.reader),
            with_words=matched.total,
            examples=None if used is None else used.gains(keys),
            meant=among(keys, meant) if meant else None,
            unwanted=among(keys, sorted(query.prompt.unwanted)) if query.prompt.unwanted else None,
            lowered=self._lowered_among(query.reader, keys),
        )

    def _lowered_among(self, reader: LexicalReader, keys: Keys) -> Flags | None:
        """Return which of the documents come after others that fit as well, None if none does."""
        lowered = None if self._lowered is None else reader.rejected_keys(self._lowered)
        if lowered is None:  # they are many, or there is no such filter
            return None if self._lowered is None else ~among(keys, reader.filter_keys(keys, self._lowered))
        flags = among(keys, lowered)
        return flags if flags.any() else None

    def _start_sides(self, query: LexicalQuery, semantic: Semantic) -> Divided | None:
        """Start the keyword searches of both sides of a query that may hold two requests, None if it holds one."""
        possible = divisions(query.spelling.text)
        if not possible.places or query.prompt.english:
            return None
        try:
            pieces = self._query_vectors.of_pieces(*semantic[:2], possible.pieces)
        except EmbeddingError:
            return None
        sides = None if pieces is None else least_alike(possible, pieces)
        if sides is None:
            return None
        parts = zip(map(query.about, sides.texts), sides.vectors, strict=True)
        return Divided(sides, [(part, self._started(part), vector[None]) for part, vector in parts])

    def _started(self, query: LexicalQuery) -> Callable[[], Match]:
        """Return the keyword search of a query. It runs beside the other searches where it takes longer than they."""
        return self._lexical_queries.start(query, concurrent=len(query.reader) >= LARGE)

    def _places(
        self, ranking: Ranking, request: SearchRequest, query: LexicalQuery, mode: RanMode, revision: int
    ) -> Places:
        """Return the ranking with one place for each skill and its copies, if the request groups them."""
        if not request.groups:
            return Places(ranking, 0)
        count, best = request.offset + request.limit, partial(self._original, query, revision)
        return with_one_place(ranking, self._index_sync.copies, count, mode, best)

    def _original(self, query: LexicalQuery, revision: int, keys: Sequence[int]) -> int:
        """Return which of some copies is shown: one that is not lowered, is verified, is installed, is the oldest."""
        cards, verified = self._cards(keys, revision), self._verified_of(query, keys)
        flags = self._lowered_among(query.reader, np.array(keys, np.int64))
        lowered = {} if flags is None else dict(zip(keys, flags.tolist(), strict=True))
        installed = {key for key in keys if key in cards and is_installed(cards[key][1])}
        return min(keys, key=lambda key: (lowered.get(key, False), key not in verified, key not in installed, key))

    def _with_copies(self, hits: list[Hit], ranking: Ranking, query: LexicalQuery, revision: int) -> list[Hit]:
        """Return the hits with what shares their places: all copies that pass the filter, ranked or not."""
        families = self._index_sync.copies.families([hit.key for hit in hits])
        if not families:
            return hits
        passed = set(ranking.all_keys().tolist())
        if deeper := set(chain(*families.values())) - passed:
            passed.update(query.reader.filter_keys(np.array(sorted(deeper), np.int64), query.allowed).tolist())
        others = {key: [each for each in family if each in passed and each != key] for key, family in families.items()}
        cards = self._cards([key for each in others.values() for key in each[:LISTED_COPIES]], revision)
        return [hit._replace(copies=Copies.of(others[hit.key], cards)) if hit.key in others else hit for hit in hits]

    def _verified_of(self, query: LexicalQuery, keys: Sequence[int]) -> set[int]:
        """Return which of some documents are verified."""
        if self._verified is None:
            return set()
        return set(query.reader.filter_keys(np.array(keys, np.int64), self._verified).tolist())

    def _best_named(self, query: LexicalQuery, name: str, keys: Sequence[int], revision: int) -> list[int]:
        if len(keys) < 2:
            return list(keys)
        return best_named(keys, self._cards(keys, revision), name, self._verified_of(query, keys))

    def browse(self, allowed: Filter, *, groups: bool) -> tuple[Keys, int]:
        """Return the keys of the documents that pass a filter at the latest revision, ascending, and that revision.

        With `groups`, only the oldest of near-copies is among them.
        """
        with self.in_flight:
            revision = self._index_sync.sync()
            keys = np.sort(self._index_sync.lexical.reader.keys(allowed))
            if groups:
                ranks = [rank for family in self._index_sync.copies.ranks(keys) for rank in family[1:]]
                keys = np.delete(keys, ranks)
        return keys, revision

    def _explained(self, hits: list[Hit], query: LexicalQuery, signals: Signals, mode: RanMode) -> list[Hit]:
        keys = [hit.key for hit in hits]
        explanations = explain(keys, self._documents.read(keys), query, signals, mode)
        return [hit._replace(explanation=explanations[hit.key]) for hit in hits]

    def _cards(self, keys: Sequence[int], revision: int) -> Mapping[int, tuple[str, bytes]]:
        """Return the cards of these documents, cached while the catalog is at `revision`."""
        cached_revision, cards = self._card_cache
        if cached_revision != revision or len(cards) > _MAX_CACHED_CARDS:
            self._card_cache = (revision, cards := {})
        missing = [key for key in keys if key not in cards]
        if missing:
            cards.update(self._documents.cards(missing))
        return cards

    def close(self) -> None:
        """Stop the threads that embed queries and search keywords."""
        self._query_vectors.close()
        self._lexical_queries.close()


def _depth(request: SearchRequest, least: int) -> int:
    """Return how many documents an index contributes to a page: at least `least`. Another order needs all there are."""
    return DEEPEST if request.order is not None else min(max(least, request.offset + request.limit), DEEPEST)


def _fall_back_to_keywords(mode: Mode, error: Exception, warnings: list[str]) -> None:
    """Add a warning that vectors are not used. Raises SemanticUnavailable if the mode requires them."""
    if mode == "semantic":
        raise SemanticUnavailable(f"Semantic search is unavailable: {error}") from error
    warnings.append(f"degraded: keyword search only, because {error}")
