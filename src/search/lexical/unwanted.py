"""The documents that are about what a request does not want."""

from collections.abc import Callable, Mapping, Sequence

from search.lexical.reader import LexicalReader
from search.lexical.schema import document_terms, query_terms
from search.text import fold
from search.types import Filter

NamesOf = Callable[[Sequence[int]], Mapping[int, str]]
"""Returns the names of documents by key."""

_MOST_WORDS = 4
_MOST_DOCUMENTS = 100
_COMMON_SHARE = 0.08
"""The share of documents from which a word says hardly what a skill is about, unless it is written as a name."""

_NEGATIONS = frozenset({"zero", "no", "non", "without", "free", "less"})
"""Words of names that are about the absence of a thing: `zero-downtime` is what `without downtime` wants."""

_ABOUT = 0.75
"""The share of the highest score for a thing from which a document is about it."""


def unwanted_keys(reader: LexicalReader, thing: str, names_of: NamesOf) -> list[int]:
    """Return the documents about a thing; none if no document has it in its name.

    `without playwright` excludes a thing of the catalog, and `without downtime` does not: no skill is called so. The
    first words of the thing count, as many as some name has.
    """
    words = thing.split()[:_MOST_WORDS]
    for count in range(len(words), 0, -1):
        part = words[:count]
        terms = query_terms(" ".join(part))
        if not terms or not all(map(reader.is_known, terms)) or not _is_name(reader, part, terms):
            continue
        match = reader.search(terms, _MOST_DOCUMENTS, Filter())
        keys = match.keys.tolist()
        names = {key: set(document_terms(name)) for key, name in names_of(keys).items()}
        named = [key for key, name in names.items() if terms.keys() <= name]
        if any(not _NEGATIONS.isdisjoint(names[key]) for key in named):
            return []
        if named:
            best = float(match.scores[0])
            about = [key for key, score in zip(keys, match.scores.tolist(), strict=True) if score >= _ABOUT * best]
            return list(dict.fromkeys((*named, *about)))
    return []


def _is_name(reader: LexicalReader, words: Sequence[str], terms: Mapping[str, float]) -> bool:
    """Return whether words name a thing: a skill has this name, a word is rare, or all are written as names are."""
    if len(words) > 1 and reader.keys_by_name(fold(" ".join(words)), 1, Filter(), joined=False):
        return True
    rare = min(map(reader.frequency, terms)) <= _COMMON_SHARE * len(reader)
    return rare or all(not word.islower() for word in words)
