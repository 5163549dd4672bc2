"""A prompt as the keyword index searches it: the request as it is spelled, and words of a paste as a weak signal."""

from collections.abc import Mapping
from typing import NamedTuple

from search.lexical.reader import LexicalReader
from search.lexical.schema import document_terms, query_terms
from search.lexical.spelling import Spelling, spell
from search.lexical.unwanted import NamesOf, unwanted_keys
from search.prompt.exclusions import exclusions, without_exclusions
from search.prompt.language import STOP_WORDS_ELSEWHERE, is_foreign
from search.prompt.reading import Prompt, read_prompt

_WEIGHT = 0.2
_MOST_WORDS = 6
_RARE_SHARE = 0.005
"""The weight of a word of a paste, how many of them count, and the share of documents that have each at most."""

_STOP_TERMS = frozenset(document_terms(" ".join(STOP_WORDS_ELSEWHERE)))


class SpelledPrompt(NamedTuple):
    """A query, what is searched of it, and how. `weak` are terms of a paste that few documents have."""

    query: str
    prompt: Prompt
    spelling: Spelling
    weak: Mapping[str, float]
    unwanted: frozenset[int] = frozenset()

    @property
    def terms(self) -> Mapping[str, float]:
        """All terms that are searched."""
        return {**self.weak, **self.spelling.terms} if self.weak else self.spelling.terms


def spell_prompt(reader: LexicalReader, query: str, names_of: NamesOf = lambda keys: {}) -> SpelledPrompt:
    """Return a query as it is searched."""
    prompt = read_prompt(query)
    excluded = exclusions(prompt.text)
    found = [(each, keys) for each in excluded if (keys := unwanted_keys(reader, each.thing, names_of))]
    if found:
        text = without_exclusions(prompt.text, [each for each, _ in found])
        prompt = prompt._replace(text=text or prompt.text, written=text or prompt.text)
    unwanted = frozenset(key for _, keys in found for key in keys)
    spelling = _as_written(reader, prompt.text) if is_foreign(prompt.text) else spell(reader, prompt.text)
    return SpelledPrompt(query, prompt, spelling, _rare_terms(reader, prompt.identifiers), unwanted)


def _as_written(reader: LexicalReader, text: str) -> Spelling:
    """Return a query in another language without its stop words. Its words are no misspellings of English ones."""
    terms = reader.terms(text)
    telling = {term: weight for term, weight in terms.items() if term not in _STOP_TERMS} or terms
    return Spelling(text, text, telling, telling)


def _rare_terms(reader: LexicalReader, words: str) -> dict[str, float]:
    """Return the terms of a paste that few documents have, rarest first: names of libraries, codes of errors."""
    if not words:
        return {}
    most = max(1, int(_RARE_SHARE * len(reader)))
    frequencies = {term: reader.frequency(term) for term in query_terms(words)}
    rare = sorted((term for term, count in frequencies.items() if 0 < count <= most), key=frequencies.__getitem__)
    return dict.fromkeys(rare[:_MOST_WORDS], _WEIGHT)
