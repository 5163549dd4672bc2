"""The vectors of queries: made in time, or not at all, and kept."""

from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

from embeddings.base import Embedder, EmbeddingError, Matrix
from search.lru_cache import LruCache
from search.text import sentences

_KEPT = 4096
_SHORT = 200  # characters that the local model embeds in one or two milliseconds
_THREADS = 4


class QueryVectors:
    """Embeds queries: each as a whole and, where it has several, each of its sentences.

    What takes longer than `longest_seconds` is given up by its search; it is kept when it comes, so that the next
    search with the same words has it. `space` names the vectors that an embedder makes. Safe to use from any thread.
    """

    def __init__(self, longest_seconds: float) -> None:
        self._longest_seconds = longest_seconds
        self._kept: LruCache[tuple[str, str], Matrix] = LruCache(_KEPT)
        self._answering: set[str] = set()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="embed-query")

    def come_at_once(self, embedder: Embedder, space: str, query: str) -> bool:
        """Return whether the vectors of a query are known, or made in a few milliseconds."""
        short = len(query) <= _SHORT and self._is_loaded(embedder, space)
        return short or self._kept.get((space, query)) is not None

    def _is_loaded(self, embedder: Embedder, space: str) -> bool:
        """Return whether a local model embeds here that has answered before, so that it takes milliseconds."""
        return embedder.provider == "local" and space in self._answering

    def of(self, embedder: Embedder, space: str, query: str) -> Matrix:
        """Return the vectors of a query, shape (sentences, dimension). Raises EmbeddingError."""
        known = self._kept.get((space, query))
        if known is not None:
            return known
        if self._is_loaded(embedder, space):  # waiting for another thread would cost more than it saves
            return self._keep(space, query, embedder.queries(sentences(query)))
        return self._made_in_time(embedder, space, query)

    def _made_in_time(self, embedder: Embedder, space: str, query: str) -> Matrix:
        future: Future[Matrix] = self._threads.submit(embedder.queries, sentences(query))
        future.add_done_callback(lambda done: self._keep_late(space, query, done))
        try:
            return future.result(self._longest_seconds)
        except FutureTimeoutError:
            raise EmbeddingError(f"the embedding took longer than {self._longest_seconds:g} s") from None

    def _keep(self, space: str, query: str, vectors: Matrix) -> Matrix:
        self._kept.put((space, query), vectors)
        return vectors

    def _keep_late(self, space: str, query: str, done: Future[Matrix]) -> None:
        if not done.cancelled() and done.exception() is None:
            self._keep(space, query, done.result())
            self._answering.add(space)

    def close(self) -> None:
        """Embed nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
