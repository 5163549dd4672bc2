"""Invisible characters that belong to a script: joiners of Persian and Hindi words and of emoji."""

import re
import unicodedata

# First the scripts whose letters change their forms beside others, from Arabic and Syriac to Khmer and Mongolian; then
# emoji; then the flags of England, Scotland and Wales.
_JOINED = re.compile(
    r"[\u0620-\u06dc\u06de-\u06ff\u0710-\u07bf\u0840-\u085f\u08a0-\u08e1\u08e3-\u0dff\u0f40-\u109f"
    r"\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa\ufb50-\ufdff\ufe70-\ufefc][\u200c\u200d]"
    r"(?=[\u0620-\u06dc\u06de-\u06ff\u0710-\u07bf\u0840-\u085f\u08a0-\u08e1\u08e3-\u0dff\u0f40-\u109f"
    r"\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa\ufb50-\ufdff\ufe70-\ufefc])"
    r"|[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f]\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
    r"|\U0001f3f4[\U000e0061-\U000e007a]{1,6}\U000e007f"
)
"""Characters that belong there, each with the one before it. None of a run of several does."""


_PAIR = 2
"""The characters of a match that ends with a joiner, unlike the tags of a flag."""

_BLANK = "\u2800"
"""The empty cell of Braille, which looks like a space."""


def without_joiners(text: str) -> str:
    """Return a text without the invisible characters that belong to its script, and with those that do not."""
    return "".join(before + joined[:1] for before, joined in pieces(text))


def pieces(text: str) -> list[tuple[str, str]]:
    """Return a text as pairs: what may have invisible characters, and then what has only those that belong to it."""
    pairs = []
    start = 0
    for joined in filter(_is_visible, _JOINED.finditer(text)):
        pairs.append((text[start : joined.start()], joined[0]))
        start = joined.end()
    return [*pairs, (text[start:], "")]


def _is_visible(joined: re.Match[str]) -> bool:
    """Return whether the characters on both sides of a joiner are visible: no blanks, and none that is not assigned."""
    sides = (joined[0][0], joined.string[joined.end() : joined.end() + 1] if len(joined[0]) == _PAIR else "")
    return not any(side == _BLANK or unicodedata.category(side).startswith("C") for side in sides if side)
