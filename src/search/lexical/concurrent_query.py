"""What words find for a query, looked for beside the embedding of it where both take long."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from search.lexical.reader import LexicalReader
from search.text import fold
from search.types import Filter, Match

LARGE = 50_000
"""In so many documents words take milliseconds to find: in fewer, the change of thread costs what it saves."""

_PREFIXED = 5
_NAMED = 20
_SHORTEST_PREFIX = 3
_LONGEST_NAME = 100
_THREADS = 4


class LexicalQuery(NamedTuple):
    """A query, its `terms` as the words index knows them, and how many of which documents are wanted."""

    words: LexicalReader
    query: str
    terms: Sequence[str]
    limit: int
    allowed: Filter

    def found(self) -> Match:
        """Return the best documents by their words."""
        return self.words.search(self.terms, self.limit, self.allowed)

    def named(self) -> tuple[list[int], list[int]]:
        """Return the keys of documents whose name the query is, and of those with a name that begins with it."""
        folded = fold(self.query)
        if not folded or len(folded) > _LONGEST_NAME:
            return [], []
        exact = self.words.named(folded, _NAMED, self.allowed)
        long_enough = len(folded) >= _SHORTEST_PREFIX
        return exact, self.words.named_with_prefix(folded, _PREFIXED, self.allowed) if long_enough else []


class ConcurrentLexicalQuery:
    """Asks the words index, in a thread of its own where that is worth it.

    tantivy, the model and FAISS do not need the interpreter, so that they work at the same time where there are two
    processors. Only `found` is worth a thread: what needs the interpreter would keep the model waiting for it.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="search-words")

    def begin(self, asked: LexicalQuery, *, beside: bool) -> Callable[[], Match]:
        """Return what gives the best documents when it is called; with `beside` they are looked for from now on."""
        return self._threads.submit(asked.found).result if beside else asked.found

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)
