"""English words: they are no misspellings, even where no skill contains them.

`english_words.txt` has the words of four letters and more of the vocabulary of BERT, which is that of the default
model: the most frequent words and names of English texts, and a few of other languages (Devlin et al. 2019,
github.com/google-research/bert, Apache-2.0).
"""

import functools
from pathlib import Path

from search.lexical.schema import document_terms


@functools.cache
def english_terms() -> frozenset[str]:
    """Return the terms of English words: 13,000, some 2 MB. They are read at the first word that no skill contains."""
    return frozenset(document_terms(Path(__file__).with_name("english_words.txt").read_text(encoding="ascii")))
