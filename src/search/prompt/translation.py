"""A query in another language word by word in English, for the keyword index and for an English encoder."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from embeddings.languages.glossary import Glossary, Meaning
from search.prompt.language import STOP_WORDS_ELSEWHERE
from search.stop_words import STOP_WORDS

_PIECE = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff]+|[\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9d]+|[\u3041-\u309f]+"
    r"|(?:(?![\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9d])\w)+"
)
_ONLY_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")
_UNSPACED = re.compile(r"[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9d]")
_HIRAGANA = re.compile(r"[\u3041-\u309f]+")  # endings and particles

_MOST_PIECES, _LONGEST_RUN, _LONGEST_WORD = 60, 40, 40
"""What is translated of a query: pieces, the characters of a run without spaces, and of a word."""

_LEAST, _BEHIND_BEST = 0.65, 0.1
"""The cosine of a word and its translation at least, and how far behind the best one others may be."""

_SAME = 0.9
"""The cosine from which a word that is in the catalog too, such as a name, is translated all the same."""

_LONG_WORD, _COMPOUND = 10, 0.85
"""The letters from which a word may be a compound, if its translation is less near than this."""

_OTHER = 0.3
"""The weight of a second translation."""

_MOST_TRANSLATIONS = 2
_SHORTEST = 3


class Translated(NamedTuple):
    """An English word for a word of a query, the term of the keyword index that it is, and its weight."""

    word: str
    term: str
    weight: float


class Translation(NamedTuple):
    """The best translations of the words of a query, other ones, and the words of the query that they replace.

    `english` has the best translations and what is English already, in the order of the query.
    """

    best: list[Translated]
    others: list[Translated]
    replaced: list[str]
    english: str


def translate(
    text: str, glossary: Glossary, is_known: Callable[[str], bool], term_of: Callable[[str], str | None]
) -> Translation:
    """Return the translation of a query in another language.

    `is_known` says whether the catalog has a word in lower case. `term_of` returns the term of an English word, None if
    no skill has it.
    """
    words = list(islice(_words(text, glossary), _MOST_PIECES))
    forms = list(dict.fromkeys(form for word in words if _may_be_translated(word, glossary) for form in _forms(word)))
    meanings = dict(zip(forms, glossary.meanings(forms), strict=True))
    translation = Translation([], [], [], "")
    english: list[str] = []
    for word in words:
        if word.casefold() in STOP_WORDS_ELSEWHERE:
            continue
        near = max((meanings[form] for form in _forms(word) if form in meanings), key=_cosine, default=None)
        if near is None or (word.isascii() and _cosine(near) < _SAME and is_known(word.casefold())):
            english.append(word)  # English, or a name such as that of a program
            continue
        each = _of_parts(word, near, glossary) or [near]
        for meaning in each:
            translations = _translated(meaning, term_of)
            translation.best.extend(translations[:1])
            translation.others.extend(entry._replace(weight=_OTHER * entry.weight) for entry in translations[1:])
            english += [meaning[0].word] if _is_translated(meaning) else []
        if any(map(_is_translated, each)) or not near[0].tells:
            translation.replaced.append(word)
        elif word.isascii():
            english.append(word)
    return translation._replace(english=" ".join(english))


def _words(text: str, glossary: Glossary) -> Iterator[str]:
    """Yield the words of a text, of scripts without spaces too. Words with digits and endings of Japanese are none."""
    for match in _PIECE.finditer(text):
        piece = match[0]
        if _ONLY_HAN.fullmatch(piece):
            for start in range(0, len(piece), _LONGEST_RUN):
                yield from glossary.divided(piece[start : start + _LONGEST_RUN])
        elif not _HIRAGANA.fullmatch(piece):
            yield piece


def _may_be_translated(word: str, glossary: Glossary) -> bool:
    low = word.casefold()
    if not word.isalpha() or len(word) > _LONGEST_WORD or low in glossary or low in STOP_WORDS:
        return False
    short = word.isascii() and len(word) < _SHORTEST and not word.isupper()
    return not short and low not in STOP_WORDS_ELSEWHERE


def _forms(word: str) -> tuple[str, ...]:
    """Return a word as it is written and in lower case: nouns of German have capitals, other words at the beginning."""
    return tuple(dict.fromkeys((word, word.casefold())))


def _cosine(near: list[Meaning]) -> float:
    return near[0].cosine


def _is_translated(near: list[Meaning]) -> bool:
    return near[0].tells and _cosine(near) >= _LEAST


def _translated(near: list[Meaning], term_of: Callable[[str], str | None]) -> list[Translated]:
    """Return at most two translations that some skill has, nearest first; none if the nearest word says nothing."""
    translations: dict[str, Translated] = {}
    least = max(_LEAST, _cosine(near) - _BEHIND_BEST)
    for word, cosine, tells in near if near[0].tells else ():
        if tells and cosine >= least and (term := term_of(word)) is not None:
            translations.setdefault(term, Translated(word, term, cosine))
    return list(translations.values())[:_MOST_TRANSLATIONS]


def _of_parts(word: str, near: list[Meaning], glossary: Glossary) -> list[list[Meaning]]:
    """Return the meanings of both parts of a compound; an empty list for another word."""
    if len(word) < _LONG_WORD or _cosine(near) >= _COMPOUND or _UNSPACED.search(word):
        return []
    parts = glossary.parts(word)
    return [] if parts is None else glossary.meanings(parts)
