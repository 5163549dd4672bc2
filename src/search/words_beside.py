"""The words' part of a search, beside the rest of it where both take long."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from search.types import Filter, Found
from search.words_state import WordsState

LARGE = 50_000
"""So many documents take words longer to search than it takes to have another thread do it."""

_THREADS = 4


class WordsBeside:
    """Searches words, of a large catalog in a thread of its own: tantivy, the model and FAISS need no interpreter."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="search-words")

    def begin(self, words: WordsState, terms: Sequence[str], limit: int, allowed: Filter) -> Callable[[], Found]:
        """Return what gives the best documents for `terms` when it is called."""
        if self.takes_long(words):
            return self._threads.submit(words.search, terms, limit, allowed).result
        return partial(words.search, terms, limit, allowed)

    @staticmethod
    def takes_long(words: WordsState) -> bool:
        """Return whether a search of these words may take more than a millisecond."""
        return len(words) >= LARGE

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)
