"""A prompt as the keyword index searches it: the request as it is spelled, and words of a paste as a weak signal."""

from collections.abc import Mapping
from typing import NamedTuple

from search.lexical.reader import LexicalReader
from search.lexical.schema import query_terms
from search.lexical.spelling import Spelling, spell
from search.prompt.reading import Prompt, read_prompt

_WEIGHT = 0.2
_MOST_WORDS = 6
_RARE_SHARE = 0.005
"""The weight of a word of a paste, how many of them count, and the share of documents that have each at most."""


class SpelledPrompt(NamedTuple):
    """A query, what is searched of it, and how. `weak` are terms of a paste that few documents have."""

    query: str
    prompt: Prompt
    spelling: Spelling
    weak: Mapping[str, float]

    @property
    def terms(self) -> Mapping[str, float]:
        """All terms that are searched."""
        return {**self.weak, **self.spelling.terms} if self.weak else self.spelling.terms


def spell_prompt(reader: LexicalReader, query: str) -> SpelledPrompt:
    """Return a query as it is searched."""
    prompt = read_prompt(query)
    return SpelledPrompt(query, prompt, spell(reader, prompt.text), _rare_terms(reader, prompt.identifiers))


def _rare_terms(reader: LexicalReader, words: str) -> dict[str, float]:
    """Return the terms of a paste that few documents have, rarest first: names of libraries, codes of errors."""
    if not words:
        return {}
    most = max(1, int(_RARE_SHARE * len(reader)))
    frequencies = {term: reader.frequency(term) for term in query_terms(words)}
    rare = sorted((term for term, count in frequencies.items() if 0 < count <= most), key=frequencies.__getitem__)
    return dict.fromkeys(rare[:_MOST_WORDS], _WEIGHT)
