"""A prompt as the keyword index searches it: the request as it is spelled, and words of a paste as a weak signal."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from embeddings.languages.glossary import Glossary
from search.lexical.reader import LexicalReader
from search.lexical.schema import document_terms, query_terms
from search.lexical.spelling import Spelling, spell
from search.lexical.unwanted import DescribedBy, unwanted_by
from search.prompt.exclusions import exclusions, without_exclusions
from search.prompt.language import STOP_WORDS_ELSEWHERE, is_foreign
from search.prompt.reading import Prompt, read_prompt
from search.prompt.translation import Translated, Translation, translate

_WEIGHT = 0.2
_MOST_WORDS = 6
_RARE_SHARE = 0.005
"""The weight of a word of a paste, how many of them count, and the share of documents that have each at most."""

_OF_REPLACED = 0.2
"""What is left of the weight of a word that was translated."""

_UNDIVIDED = re.compile(r"[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9d]")

_STOP_TERMS = frozenset(document_terms(" ".join(STOP_WORDS_ELSEWHERE)))


class SpelledPrompt(NamedTuple):
    """A query, what is searched of it, and how. `weak` are terms of a paste that few documents have.

    `english` is the translation of a query in another language, word by word; empty without one.
    """

    query: str
    prompt: Prompt
    spelling: Spelling
    weak: Mapping[str, float]
    unwanted: frozenset[int] = frozenset()
    english: str = ""

    @property
    def terms(self) -> Mapping[str, float]:
        """All terms that are searched."""
        return {**self.weak, **self.spelling.terms} if self.weak else self.spelling.terms


def spell_prompt(
    reader: LexicalReader, query: str, described: DescribedBy = lambda keys: {}, glossary: Glossary | None = None
) -> SpelledPrompt:
    """Return a query as it is searched. With a glossary, one in another language is translated."""
    prompt = read_prompt(query)
    foreign = is_foreign(prompt.text)
    excluded, beside = (
        [(each, unwanted_by(reader, each.thing, described)) for each in exclusions(text, foreign=foreign)]
        for text in (prompt.text, prompt.background)
    )
    if left_out := [each for each, documents in excluded if documents.keys and not documents.is_quality]:
        written = without_exclusions(prompt.text, left_out) or prompt.text
        text = " ".join((written, *(documents.purpose for each, documents in excluded if each.is_model)))
        prompt = prompt._replace(text=text.rstrip(), written=written)
    unwanted = frozenset(key for _, documents in (*excluded, *beside) for key in documents.keys)
    weak = _rare_terms(reader, prompt.identifiers)
    if not foreign:
        return SpelledPrompt(query, prompt, spell(reader, prompt.text), weak, unwanted)
    if glossary is None:
        return SpelledPrompt(query, prompt, _as_written(reader, prompt.text), weak, unwanted)
    translation = translate(prompt.text, glossary, lambda word: reader.dictionary.frequency(word) > 0, _term_in(reader))
    spelling = _translated(_as_written(reader, prompt.text), translation)
    return SpelledPrompt(query, prompt, spelling, weak, unwanted, translation.english)


def _as_written(reader: LexicalReader, text: str) -> Spelling:
    """Return a query in another language without its stop words. Its words are no misspellings of English ones."""
    terms = reader.terms(text)
    telling = {term: weight for term, weight in terms.items() if term not in _STOP_TERMS} or terms
    return Spelling(text, text, telling, telling)


def _term_in(reader: LexicalReader) -> Callable[[str], str | None]:
    """Return what makes a term of an English word, None if no document has it."""

    def term_of(word: str) -> str | None:
        term = next(iter(document_terms(word)), None)
        return term if term is not None and reader.is_known(term) else None

    return term_of


def _translated(spelling: Spelling, translation: Translation) -> Spelling:
    """Return a query in another language with the translations of its words.

    Words that are translated still count a little, because a skill may be written in this language. Without spaces
    between words, terms are pairs of characters, which say nothing in other skills.
    """
    replaced = set(document_terms(" ".join(translation.replaced)))
    best = _weights(translation.best)
    whole_terms = {term: weight for term, weight in spelling.terms.items() if not _UNDIVIDED.search(term)}
    written = {term: weight * (_OF_REPLACED if term in replaced else 1) for term, weight in whole_terms.items()}
    terms = _highest(_weights(translation.others), best, written)
    needed = best.keys() | {term for term in written if term not in replaced}
    english = dict.fromkeys(each.word for each in (*translation.best, *translation.others))
    return spelling._replace(
        terms=terms or spelling.terms, english=tuple(english), optional=frozenset(terms.keys() - needed)
    )


def _weights(words: Iterable[Translated]) -> dict[str, float]:
    return _highest(*({each.term: each.weight} for each in words))


def _highest(*weights: Mapping[str, float]) -> dict[str, float]:
    """Return the highest weight of each term."""
    highest: dict[str, float] = {}
    for each in weights:
        for term, weight in each.items():
            highest[term] = max(highest.get(term, 0.0), weight)
    return highest


def _rare_terms(reader: LexicalReader, words: str) -> dict[str, float]:
    """Return the terms of a paste that few documents have, rarest first: names of libraries, codes of errors."""
    if not words:
        return {}
    most = max(1, int(_RARE_SHARE * len(reader)))
    frequencies = {term: reader.frequency(term) for term in query_terms(words)}
    rare = sorted((term for term, count in frequencies.items() if 0 < count <= most), key=frequencies.__getitem__)
    return dict.fromkeys(rare[:_MOST_WORDS], _WEIGHT)
