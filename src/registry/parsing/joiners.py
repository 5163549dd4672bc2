"""Invisible characters that belong to a script: joiners of Persian and Hindi words and of emoji."""

import re

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


def without_joiners(text: str) -> str:
    """Return a text without the invisible characters that belong to its script, and with those that do not."""
    return _JOINED.sub(lambda joined: joined[0][0], text)


def pieces(text: str) -> list[tuple[str, str]]:
    """Return a text as pairs: what may have invisible characters, and then what has only those that belong to it."""
    pairs = []
    start = 0
    for joined in _JOINED.finditer(text):
        pairs.append((text[start : joined.start()], joined[0]))
        start = joined.end()
    return [*pairs, (text[start:], "")]
