"""The documents that are about what a request does not want."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from search.lexical.english import is_no_english
from search.lexical.reader import LexicalReader
from search.lexical.schema import document_terms, query_terms
from search.prompt.exclusions import exclusions
from search.text import fold
from search.types import Described, Filter

DescribedBy = Callable[[Sequence[int]], Mapping[int, Described]]
"""Returns what documents say in short, by key."""

_MOST_WORDS = 4
_MOST_DOCUMENTS = 100
_COMMON_SHARE = 0.08
"""The share of documents from which a word says hardly what a skill is about, unless it is written as a name."""

_ABSENT_AFTER = frozenset({"zero", "no", "non", "without"})
_ABSENT_BEFORE = frozenset({"free", "less"})
"""Words beside a thing in a name that is about its absence: `zero-downtime` is what `without downtime` wants."""

_TOLD = 200
"""The characters of a description that are read for its purpose."""

_SIGNS = ".,;:!?()[]\"'`’"

_ABOUT = 0.75
"""The share of the highest score for a thing from which a document is about it."""


class Unwanted(NamedTuple):
    """The documents about a thing. `is_quality` says that a skill is named after its absence, so that it is searched.

    A request without the thing is a request for such a skill. `purpose` is what the first document says of itself, but
    for the thing.
    """

    keys: Sequence[int] = ()
    is_quality: bool = False
    purpose: str = ""


def unwanted_by(reader: LexicalReader, thing: str, described: DescribedBy) -> Unwanted:
    """Return the documents about a thing: those that have it in their names, and those that say as much about it.

    `without playwright` excludes a thing of the catalog, and `without downtime` does not: no skill is called so. If
    none is, a name such as `deepgram`, which is no English word, excludes the documents whose descriptions mention it.
    The first words of the thing count, as many as some name has.
    """
    proper_name: tuple[Mapping[int, Described], Mapping[str, float]] | None = None
    for words, terms in _things(reader, thing):
        match = reader.search(terms, _MOST_DOCUMENTS, Filter())
        keys = match.keys.tolist()
        cards = described(keys)
        names = {key: document_terms(card.name) for key, card in cards.items()}
        named = [key for key, name in names.items() if terms.keys() <= set(name)]
        without = {key for key in named if _is_absent(names[key], terms)}
        if without:
            return Unwanted([key for key in named if key not in without], is_quality=True)
        if named:
            best = float(match.scores[0])
            about = [key for key, score in zip(keys, match.scores.tolist(), strict=True) if score >= _ABOUT * best]
            return Unwanted(list(dict.fromkeys((*named, *about))), purpose=_purpose(cards[named[0]], words))
        if proper_name is None and _is_proper_name(words):
            proper_name = cards, terms
    if proper_name is None:
        return Unwanted()
    cards, terms = proper_name
    return Unwanted([key for key, card in cards.items() if _mentions(card.description, terms)])


def _things(reader: LexicalReader, thing: str) -> Iterator[tuple[Sequence[str], Mapping[str, float]]]:
    """Yield the first words of a thing that name something documents have, the most words first, with their terms."""
    words = thing.split()[:_MOST_WORDS]
    for count in range(len(words), 0, -1):
        part = words[:count]
        terms = query_terms(" ".join(part))
        if terms and all(map(reader.is_known, terms)) and _is_name(reader, part, terms):
            yield part, terms


def _is_name(reader: LexicalReader, words: Sequence[str], terms: Mapping[str, float]) -> bool:
    """Return whether words name a thing: a skill has this name, a word is rare, or it is a proper name."""
    if len(words) > 1 and reader.keys_by_name(fold(" ".join(words)), 1, Filter(), joined=False):
        return True
    return min(map(reader.frequency, terms)) <= _COMMON_SHARE * len(reader) or _is_proper_name(words)


def _is_proper_name(words: Sequence[str]) -> bool:
    """Return whether words are written as names are, or are no English ones."""
    return all(not word.islower() or is_no_english(word) for word in words)


def _is_absent(name: Sequence[str], terms: Mapping[str, float]) -> bool:
    """Return whether a name says that a thing is not there: `zero-downtime`, `gluten-free`."""
    padded = ("", *name, "")
    return any(
        term in terms and (before in _ABSENT_AFTER or after in _ABSENT_BEFORE)
        for before, term, after in zip(padded, name, padded[2:], strict=False)
    )


def _purpose(card: Described, words: Sequence[str]) -> str:
    """Return the beginning of a description without the words of a thing: `Manage … boards` for `trello`."""
    thing = {word.casefold() for word in words}
    told = card.description[:_TOLD].split(". ", 1)[0].split()
    return " ".join(word for word in told if not thing.intersection(_bare_forms(word)))


def _bare_forms(word: str) -> tuple[str, str]:
    """Return a word in lower case without signs around it, and without the *'s* of its possessive too."""
    bare = word.casefold().strip(_SIGNS)
    return bare, bare.removesuffix("'s").removesuffix("’s")


def _mentions(description: str, terms: Mapping[str, float]) -> bool:
    """Return whether a description has a thing, and does not say itself that it does without."""
    if not terms.keys() <= set(document_terms(description)):
        return False
    return not any(terms.keys() <= set(document_terms(each.thing)) for each in exclusions(description))
