"""Scripts other than Latin: one form for equal characters, and terms for scripts that put no spaces between words."""

import re
import unicodedata
from itertools import pairwise

from search.technical_names import as_words

# Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer. Without division, a sentence would be one term that matches
# nothing else.
_RUN = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)

# No combining mark is a letter to `re`. The ranges left out have none, and are in many texts: punctuation and symbols.
_MAYBE_MARKS = re.compile(r"[^\w\s\x00-\u02ff\u2000-\u2bff\ufe00-\ufe0f\U0001f000-\U0001ffff]+")

# What may be a run of marks that no text has. Python puts the marks of a run in order in quadratic time.
_MANY_MARKS = re.compile(
    r"((?:[^\w\s\x00-\u02ff\u2100-\u2bff\ufe00-\ufe0f\U0001f000-\U0001ffff]|[\uff9e\uff9f]){30})"
    r"(?:[^\w\s\x00-\u02ff\u2100-\u2bff\ufe00-\ufe0f\U0001f000-\U0001ffff]|[\uff9e\uff9f])+"
)


def composed(text: str) -> str:
    """Return the text in Unicode's form NFKC: equal characters become equal, full-width letters become plain ones.

    Of more than 30 marks or signs in a row, only the first 30 of a text in another form stay. The time is linear.
    """
    if text.isascii() or unicodedata.is_normalized("NFKC", text):  # most texts: the look is cheap
        return text
    return unicodedata.normalize("NFKC", _MANY_MARKS.sub(r"\1", text))


def divided(text: str) -> str:
    """Return a query in the form that the keyword index tokenizes.

    The text is composed and has no combining marks, and `C++` is a word. Each run of characters of a script without
    spaces is replaced by its overlapping pairs.
    """
    return _replaced_runs(text, characters=False)


def divided_document(text: str) -> str:
    """Return the text of a document, as `divided` returns that of a query, with the characters of each run too.

    So a query of one character finds what contains it.
    """
    return _replaced_runs(text, characters=True)


def without_undivided(text: str) -> str:
    """Return a text with a blank for each run of characters of a script without spaces."""
    return text if text.isascii() else _RUN.sub(" ", text)


def is_undivided(term: str) -> bool:
    """Return whether a term is a part of a run of characters, not a word between spaces."""
    return _RUN.match(term) is not None


def _replaced_runs(text: str, *, characters: bool) -> str:
    if text.isascii():
        return as_words(text)

    def terms(run: re.Match[str]) -> str:
        if len(run[0]) == 1:  # beside a Latin word, as in `用docker`
            return f" {run[0]} "
        pairs = map("".join, pairwise(run[0]))
        return f" {' '.join((*run[0], *pairs) if characters else pairs)} "

    lines = as_words(composed(text)).split("\n")  # most are plain, and no match crosses their ends
    return "\n".join(
        line if line.isascii() else _RUN.sub(terms, _MAYBE_MARKS.sub(_without_marks, line)) for line in lines
    )


def _without_marks(characters: re.Match[str]) -> str:
    """Return characters without combining marks. Marks of Latin letters are part of the letter after composition.

    Most marks end a term in the tokenizer: a virama would cut a Hindi word in two. Writers also leave many of them out,
    as vowels in Arabic and Hebrew.
    """
    return "".join(character for character in characters[0] if not unicodedata.combining(character))
