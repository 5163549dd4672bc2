"""English words: they are no misspellings, even where no skill contains them.

`english_words.txt` has the words of four letters and more of the vocabulary of BERT, which is that of the default
model: the most frequent words and names of English texts, and a few of other languages (Devlin et al. 2019,
github.com/google-research/bert, Apache-2.0).
"""

import functools
from pathlib import Path

from search.lexical.schema import document_terms
from search.prompt.mentions import Mention

_MANY_PARTS = 3
"""The words of a name from which it is hardly a phrase by chance."""

_LETTERS_OF_A_NAME = 5
"""The letters from which a word that is not English is a name, and not an abbreviation such as `sql`."""


@functools.cache
def english_terms() -> frozenset[str]:
    """Return the terms of English words: 13,000, some 2 MB. They are read at the first word that no skill contains."""
    return frozenset(document_terms(Path(__file__).with_name("english_words.txt").read_text(encoding="ascii")))


def is_distinctive(mention: Mention) -> bool:
    """Return whether a name that a prompt may mention is no common word, nor two of them beside each other."""
    words = mention.name.replace("/", " ").split()
    if len(words) >= _MANY_PARTS or (mention.is_joined and len(words) > 1):
        return True
    return any(map(is_no_english, words))


def is_no_english(word: str) -> bool:
    """Return whether a word is none of English, and long enough to be no abbreviation: a name."""
    return len(word) >= _LETTERS_OF_A_NAME and not english_terms().issuperset(document_terms(word))
