"""Spelling: words of a query that no document contains are replaced by words of the dictionary that look alike.

A word that some document contains is what the user means, and so is an English word. A wrong guess does harm, so words
with digits or with capitals inside, words of other scripts or with accents, and words of fewer than four letters stay
too, and every word of a query with many unknown words: it is in another language, or a text of a machine.

A word that hardly any document contains, one edit from a far more frequent one, is searched as both: otherwise one
skill that lists misspellings would take the queries of everybody who makes them.

Two words that are written as one in the dictionary, such as `power point`, are searched as one too.
"""

import functools
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from search.corrections import Correction
from search.lexical.dictionary import LEAST_FREQUENT
from search.lexical.english import english_terms
from search.lexical.reader import LexicalReader
from search.lexical.schema import document_terms, query_terms
from search.scripts import composed
from search.stop_words import STOP_WORDS

DISCOUNT = 0.8
"""The weight of a word that was searched in place of another, as a share of the weight of that one."""

JOINED = 0.8
"""The weight of two words as one."""

_MOST_UNKNOWN = 4
_RARE = 3
"""The most documents that may contain a word which may be a misspelling all the same."""

_FAR_MORE = LEAST_FREQUENT
"""How many times more documents must contain the word that is meant then."""

_MOST_RARE = 2
"""Such words of a query. One with more is in another language, or of a subject of few skills."""

_SHORTEST_RARE = 5
_LONGEST_WITH_RARE = 200
"""The characters of a query of which a rare word may be a misspelling. In a longer one it hardly counts."""
_LONGEST_WITH_PAIRS = 40
"""The characters of a query of which two words may be one. In a longer one they hardly count."""

_MOST_WORDS = 4096
"""How many words are remembered with their terms, some 200 bytes each."""

_START, _END = r"(?<![^\W_])", r"(?![^\W_])"
_WORD = re.compile(r"(?<![^\W_])[A-Za-z]{4,24}(?![^\W_])")
_LETTERS = re.compile(r"[A-Za-z]{2,12}")


class Spelling(NamedTuple):
    """A query, and how it is searched: its text and its weighted terms with corrected words, and what was corrected.

    `written` has the terms of the query as it is written. `joined` are words that are searched besides those of the
    text: a document need not contain them to match in full, nor the terms in `optional`. `english` are the words of the
    translation of a query in another language.
    """

    query: str
    text: str
    terms: Mapping[str, float]
    written: Mapping[str, float]
    corrections: Sequence[Correction] = ()
    joined: Sequence[str] = ()
    english: Sequence[str] = ()
    optional: Collection[str] = ()

    @property
    def ceiling(self) -> Mapping[str, float]:
        """The terms of a document that matches in full."""
        if not self.joined and not self.optional:
            return self.terms
        optional = {*map(_term, self.joined), *self.optional}
        return {term: weight for term, weight in self.terms.items() if term not in optional}

    @property
    def words(self) -> str:
        """All words that are searched."""
        return " ".join((self.text, *self.joined, *self.english))


def spell(reader: LexicalReader, query: str) -> Spelling:
    """Return a normalized query with its unknown words corrected. It takes no time if all words are known."""
    terms = reader.terms(query)
    spelling = Spelling(query, query, terms, terms)
    if not all(map(reader.is_known, terms)):
        spelling = _corrected(reader, spelling)
    return _joined(reader, _with_more_frequent(reader, spelling))


def _with_more_frequent(reader: LexicalReader, spelling: Spelling) -> Spelling:
    """Search far more frequent words besides the rare ones that may be misspellings of them.

    Both weigh as much as the frequent one: a skill that has it in its name comes before a list of misspellings.
    """
    rare = (
        [term for term in spelling.terms if _is_rare(reader, term)] if len(spelling.text) <= _LONGEST_WITH_RARE else []
    )
    if not 0 < len(rare) <= _MOST_RARE:
        return spelling
    terms, joined = dict(spelling.terms), list(spelling.joined)
    text = composed(spelling.text)
    words = {_term(word): word for word in _WORD.findall(text) if not _looks_like_a_name(word, text)}
    for term in words.keys() & set(rare):
        meant = reader.dictionary.more_frequent(words[term].lower(), _FAR_MORE * reader.frequency(term))
        if meant is not None and (meant_term := _term(meant)) not in terms:
            terms[meant_term] = terms[term]
            terms[term] *= reader.ceiling({meant_term: 1.0}) / reader.ceiling({term: 1.0})
            joined.append(meant)
    return spelling._replace(terms=terms, joined=sorted(joined)) if joined else spelling


def _is_rare(reader: LexicalReader, term: str) -> bool:
    return len(term) >= _SHORTEST_RARE and 0 < reader.frequency(term) <= _RARE and term not in english_terms()


def _corrected(reader: LexicalReader, spelling: Spelling) -> Spelling:
    text = composed(spelling.query)
    wrong = [word for word in dict.fromkeys(_WORD.findall(text)) if _may_be_wrong(reader, word, text)]
    if not 0 < len(wrong) <= _MOST_UNKNOWN:
        return spelling
    used = {pair: (word,) for pair, word in _pairs(reader, text).items() if not set(wrong).isdisjoint(pair.split())}
    in_pairs = set(" ".join(used).split())
    used |= {word: meant for word in wrong if word not in in_pairs and (meant := reader.dictionary.meant(word.lower()))}
    if not used:
        return spelling
    return spelling._replace(
        text=re.sub(f"{_START}({'|'.join(used)}){_END}", lambda match: " ".join(used[match[0]]), text),
        terms=_corrected_terms(spelling.terms, used),
        corrections=[Correction(word=word, used=list(meant)) for word, meant in used.items()],
    )


def _may_be_wrong(reader: LexicalReader, word: str, text: str) -> bool:
    """Return whether a word of a text is neither known nor English, nor looks like a name or an abbreviation."""
    is_name = _looks_like_a_name(word, text)
    return not is_name and not reader.is_known(term := _term(word)) and term not in english_terms()


def _looks_like_a_name(word: str, text: str) -> bool:
    return not word[1:].islower() and not text.isupper()


@functools.lru_cache(_MOST_WORDS)
def _term(word: str) -> str:
    """Return the term of a word. Queries have the same words again and again, and an analysis takes microseconds."""
    return next(iter(document_terms(word)), "")


def _corrected_terms(terms: Mapping[str, float], used: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the terms of a query with those of the words that are used in the place of others."""
    replaced = query_terms(" ".join(used))
    corrected = {term: weight for term, weight in terms.items() if term not in replaced}
    meant = query_terms(" ".join(" ".join(each) for each in used.values()))
    return dict.fromkeys(meant, DISCOUNT) | corrected


def _joined(reader: LexicalReader, spelling: Spelling) -> Spelling:
    pairs = _pairs(reader, spelling.text) if len(spelling.text) <= _LONGEST_WITH_PAIRS else {}
    joined = [word for word in pairs.values() if _term(word) not in spelling.terms]
    if not joined:
        return spelling
    terms = {**spelling.terms, **dict.fromkeys(map(_term, joined), JOINED)}
    return spelling._replace(terms=terms, joined=[*spelling.joined, *joined])


def _pairs(reader: LexicalReader, text: str) -> dict[str, str]:
    """Return the pairs of words of a text that the dictionary has as one word, and this word."""
    words = [word if _LETTERS.fullmatch(word) and word.lower() not in STOP_WORDS else "" for word in text.split()]
    pairs = {f"{first} {second}": (first + second).lower() for first, second in pairwise(words) if first and second}
    return {pair: word for pair, word in pairs.items() if reader.dictionary.frequency(word)}
