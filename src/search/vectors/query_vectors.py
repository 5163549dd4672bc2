"""Query embedding with a time limit and a cache."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TypeVar

import numpy as np

from embeddings.base import Embedder, EmbeddingError, Matrix, unit_vector
from embeddings.languages.glossary import Glossary
from embeddings.languages.reader import LanguageReader
from search.lru_cache import LruCache
from search.prompt.language import is_foreign
from search.steps import step
from search.text import split_sentences

_CACHE_BYTES = 16 * 1024 * 1024
_ENTRY_BYTES = 512
"""What an entry of the cache takes besides its text and its vectors."""

_CHARACTER_BYTES = 4
_BETWEEN_PIECES = "\x1e"  # the record separator of ASCII
_SHORT_QUERY = 200  # characters that the local model embeds in one or two milliseconds
_THREADS = 4
_Result = TypeVar("_Result")


def embed_query(embedder: Embedder, query: str, languages: LanguageReader | None = None, english: str = "") -> Matrix:
    """Return the vectors of a query and, if it has several, of its sentences: shape (1 + sentences, dimension).

    A document's cosine is the maximum over all of them: the vector of a query about several things is near to none.

    A local model takes time for each token, so it reads each of them once: the vector of the whole is the mean of its
    sentences, weighted by their words. A hosted provider takes one request in either case. Where `languages` can, it
    reads a query that is not English instead of a local model. With its translation, `english`, there is one vector:
    the mean of that and of the model's vector of the translation. Raises EmbeddingError.
    """
    parts = split_sentences(query)
    if embedder.provider != "local":
        return embedder.queries([query] if parts is None else [query, *parts.sentences])
    vectors = _foreign(embedder, query, [query] if parts is None else [query, *parts.sentences], languages)
    if vectors is not None:
        return vectors if not english else unit_vector(vectors[0] + embedder.queries([english])[0])[None]
    if parts is None:
        return embedder.queries([query])
    texts = [*parts.sentences, parts.rest] if parts.rest else parts.sentences
    vectors = embedder.queries(texts)
    words = np.array([len(text.split()) for text in texts], np.float32)
    return np.vstack([unit_vector(words @ vectors), vectors[: len(parts.sentences)]])


def _foreign(embedder: Embedder, query: str, texts: Sequence[str], languages: LanguageReader | None) -> Matrix | None:
    """Return the vectors of the texts of a query in another language; None if the embedder has to read them."""
    if languages is None or embedder.provider != "local" or not is_foreign(query):
        return None
    return languages.queries(embedder.space, texts)


class QueryVectors:
    """Embeds queries as `embed_query` does, those in other languages than English too if the extra is installed.

    After `timeout_seconds` the search gives up. The late result is still cached, so that the next search for the same
    query has it. `space` names the vectors that an embedder makes. Safe to use from any thread.
    """

    def __init__(self, timeout_seconds: float, languages: LanguageReader | None = None) -> None:
        self._timeout_seconds = timeout_seconds
        self._languages = languages or LanguageReader()
        self._cache: LruCache[tuple[str, str], Matrix] = LruCache(_CACHE_BYTES, _cached_bytes)
        self._loaded_spaces: set[str] = set()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="embed-query")

    def is_fast(self, embedder: Embedder, space: str, query: str) -> bool:
        """Return whether the vectors of a query are cached, or take a few milliseconds."""
        short = len(query) <= _SHORT_QUERY and self._is_loaded(embedder, space, query)
        return (short and not is_foreign(query)) or self._cache.get((space, query)) is not None

    def is_local(self, embedder: Embedder, space: str, query: str) -> bool:
        """Return whether the vectors of a query are cached, or made here by a loaded model."""
        return self._is_loaded(embedder, space, query) or self._cache.get((space, query)) is not None

    def _is_loaded(self, embedder: Embedder, space: str, query: str) -> bool:
        """Return whether a local model that is loaded reads the query, which takes milliseconds."""
        if embedder.provider != "local" or space not in self._loaded_spaces:
            return False
        return self._languages.is_settled() or not is_foreign(query)

    def glossary(self, embedder: Embedder, query: str) -> Glossary | None:
        """Return the glossary for a query in another language; None for others, or if it is not loaded."""
        if embedder.provider != "local" or not is_foreign(query):
            return None
        return self._languages.glossary(embedder.space)

    def prepare(self, embedder: Embedder, query: str) -> None:
        """Load what a query in another language needs. Raises EmbeddingError if that takes too long."""
        if embedder.provider == "local" and not self._languages.is_settled() and is_foreign(query):
            self._result(self._threads.submit(self._languages.load, embedder.space), "loading the languages")

    def get(self, embedder: Embedder, space: str, query: str, english: str = "") -> Matrix:
        """Return the vectors of a query, shape (sentences, dimension). `english` is its translation.

        Raises EmbeddingError.
        """
        key = f"{query}{_BETWEEN_PIECES}{english}" if english else query
        cached = self._cache.get((space, key))
        if cached is not None:
            return cached
        return self._embedded(embedder, space, query, english, key)

    @step("query embedding")
    def _embedded(self, embedder: Embedder, space: str, query: str, english: str, key: str) -> Matrix:
        if self._is_loaded(embedder, space, query):  # a thread would cost more than it saves
            return self._read(embedder, space, query, english, key)
        return self._result(self._threads.submit(self._read, embedder, space, query, english, key), "the embedding")

    def _read(self, embedder: Embedder, space: str, query: str, english: str, key: str) -> Matrix:
        """Embed a query, and store its vectors before a search that waits for a thread gets them."""
        vectors = self._store(space, key, embed_query(embedder, query, self._languages, english))
        self._loaded_spaces.add(space)
        return vectors

    def of_pieces(self, embedder: Embedder, space: str, pieces: Sequence[str]) -> Matrix | None:
        """Return the vector of each piece of a query, shape (pieces, dimension); None if that takes a request.

        Raises EmbeddingError.
        """
        joined = _BETWEEN_PIECES.join(pieces)
        cached = self._cache.get((space, joined))
        if cached is not None or not self._is_loaded(embedder, space, " ".join(pieces)):
            return cached
        vectors = _foreign(embedder, " ".join(pieces), pieces, self._languages)
        return self._store(space, joined, embedder.queries(pieces) if vectors is None else vectors)

    def _result(self, future: Future[_Result], what: str) -> _Result:
        try:
            return future.result(self._timeout_seconds)
        except FutureTimeoutError:
            raise EmbeddingError(f"{what} took longer than {self._timeout_seconds:g} s") from None

    def _store(self, space: str, query: str, vectors: Matrix) -> Matrix:
        self._cache.put((space, query), vectors)
        return vectors

    def close(self) -> None:
        """Stop the threads. Queries that wait for one are cancelled."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _cached_bytes(key: tuple[str, str], vectors: Matrix) -> int:
    return _ENTRY_BYTES + _CHARACTER_BYTES * len(key[1]) + vectors.nbytes
