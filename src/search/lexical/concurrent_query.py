"""A query to the keyword index, run in a thread of its own if that saves time."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain, islice
from typing import NamedTuple

from search.lexical.english import is_distinctive
from search.lexical.reader import LexicalReader
from search.lexical.spelled_prompt import SpelledPrompt
from search.lexical.spelling import Spelling, spell
from search.prompt.mentions import mentioned_names, undecorated_names
from search.prompt.reading import Prompt
from search.steps import step
from search.text import fold
from search.types import Filter, Match, Named

LARGE = 50_000
"""The number of documents from which a keyword query takes milliseconds. Below it, a thread costs what it saves."""

_MAX_PREFIX_MATCHES = 5
_MAX_NAME_MATCHES, _MAX_MENTIONS = 100, 3
_MIN_PREFIX_LENGTH = 3
_MAX_NAME_LENGTH = 100
_THREADS = 4


class NameMatches(NamedTuple):
    """The keys of documents with a folded name that the query is or mentions, and of those that begin with the query.

    `meant` are those whose name equals the query with its corrected words; they are among the prefixed. `placed` are
    those where the query is an address.
    """

    named: Mapping[str, list[int]]
    prefixed: list[int]
    meant: Sequence[int] = ()
    placed: Sequence[int] = ()


class LexicalQuery(NamedTuple):
    """A query to the keyword index. `counts_all` counts all documents that match.

    `named` returns the documents that the query names by where they are.
    """

    reader: LexicalReader
    prompt: SpelledPrompt
    limit: int
    allowed: Filter
    counts_all: bool = False
    named: Callable[[], Named | None] | None = None

    @property
    def spelling(self) -> Spelling:
        """The request of the query as it is spelled."""
        return self.prompt.spelling

    @property
    def terms(self) -> Mapping[str, float]:
        """The weighted terms of the request."""
        return self.spelling.terms

    def about(self, part: str) -> "LexicalQuery":
        """Return the query for a part of the request."""
        spelled = SpelledPrompt(part, Prompt(part, part), spell(self.reader, part), {}, self.prompt.unwanted)
        return self._replace(prompt=spelled, counts_all=False, named=None)

    @step("keyword search")
    def search(self) -> Match:
        """Return the best documents by BM25."""
        return self.reader.search(self.prompt.terms, self.limit, self.allowed, count=self.counts_all)

    def match_names(self) -> NameMatches:
        """Return the documents whose name equals the query, and those whose name begins with it.

        If there is no such name, a query such as `/pdf` or `the pdf skill` is a name without its decoration. A name
        equals only what is written, so that none passes for another; it may begin with what is meant.
        """
        query = fold(self.spelling.query)
        prefixed = self._beginning_with(query)
        # What is written comes first: a name may read like a frame, as `one skill to rule them all` does.
        texts = dict.fromkeys((self.prompt.prompt.written, self.spelling.query))
        names = chain.from_iterable((fold(text), *undecorated_names(text)) for text in texts)
        for name in dict.fromkeys(names):
            if exact := self._named(name):
                return NameMatches({name: exact}, prefixed)
        if placed := self._placed():
            return NameMatches({}, prefixed, placed=placed)
        if mentioned := self._mentioned():
            return NameMatches(mentioned, prefixed)
        if not self.spelling.corrections:
            return NameMatches({}, prefixed)
        corrected = fold(self.spelling.text)
        meant = self._named(corrected)
        prefixed = prefixed or self._beginning_with(corrected)
        return NameMatches({}, list(dict.fromkeys((*meant, *prefixed))), meant)

    def _placed(self) -> list[int]:
        """Return the keys of the skills where the query is an address."""
        named = self.named() if self.named is not None else None
        if named is None:
            return []
        there = self.allowed.within(named.place)
        keys = [self.reader.keys_by_name(name, _MAX_NAME_MATCHES, there) for name in named.names]
        return list(chain(*keys)) or sorted(self.reader.keys(there).tolist())[:_MAX_NAME_MATCHES]

    def _mentioned(self) -> dict[str, list[int]]:
        """Return the keys of the skills that the query names, by folded name.

        A name that is not marked as one counts only if it is no common word.
        """
        marked: dict[str, list[int]] = {}
        others: dict[str, list[int]] = {}
        for mention in mentioned_names(self.prompt.prompt.written):
            if not mention.is_marked and not is_distinctive(mention):
                continue
            if keys := self._named(mention.name, joined=mention.is_marked):
                (marked if mention.is_marked else others).setdefault(mention.name, keys)
        return dict(islice((marked or others).items(), _MAX_MENTIONS))

    def _beginning_with(self, name: str) -> list[int]:
        if not _MIN_PREFIX_LENGTH <= len(name) <= _MAX_NAME_LENGTH:
            return []
        return self.reader.keys_by_name_prefix(name, _MAX_PREFIX_MATCHES, self.allowed)

    def _named(self, name: str, *, joined: bool = True) -> list[int]:
        if not 0 < len(name) <= _MAX_NAME_LENGTH:
            return []
        return self.reader.keys_by_name(name, _MAX_NAME_MATCHES, self.allowed, joined=joined)


class ConcurrentLexicalQuery:
    """Runs queries to the keyword index, in a thread if requested.

    tantivy, the embedding model and FAISS release the interpreter lock, so they run in parallel on two cores. Only
    `LexicalQuery.search` runs in the thread: code that holds the lock would delay the model.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="keyword-query")

    def start(self, query: LexicalQuery, *, concurrent: bool) -> Callable[[], Match]:
        """Return a function that returns the best documents. With `concurrent`, the search begins at once."""
        return self._threads.submit(copy_context().run, query.search).result if concurrent else query.search

    def close(self) -> None:
        """Stop the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
