"""Characters as codes of one byte: every character that the rules tell apart has a code of its own."""

import re

_KINDS = (
    # Where case does not count, these four match a letter of ASCII.
    ("\u0131", "[\u0130\u0131]"),
    ("\u017f", "\u017f"),
    ("\u212a", "\u212a"),
    ("\u2019", "\u2019"),
    # The invisible characters of the rules for hidden text.
    ("\u200b", "[\u200b\u2060-\u2064]"),
    ("\u200c", "[\u200c\u200d\ufeff]"),
    ("\u180e", "\u180e"),
    ("\u3164", "[\u3164\uffa0]"),
    ("\u202a", "[\u202a-\u202e\u2066-\u2069]"),
    ("\ufe00", "[\ufe00-\ufe0e]"),
    ("\U000e0000", "[\U000e0000-\U000e007f]"),
    ("\U000e0100", "[\U000e0100-\U000e01ef]"),
    ("\U0001f3f4", "\U0001f3f4"),
    ("\u0430", r"(?=\w)[\u0370-\u03ff\u0400-\u052f]"),
    ("\u0375", "[\u0370-\u03ff\u0400-\u052f]"),
    ("\u0663", r"\d"),
    ("\u00e9", r"\w"),
    ("\u00a0", r"\s"),
    ("\u2014", r"[^\0]"),
)
"""A character of each kind outside ASCII, and the expression for its kind; the first that matches counts."""

REPRESENTATIVES = (*map(chr, range(128)), *(character for character, _ in _KINDS))
"""The character that stands for all of a code, by code."""

FOLDED = bytes(range(256)).lower().translate(bytes.maketrans(b"\x80\x81\x82", b"isk"))
"""What translates a code into that of the small letter which it matches where case does not count."""

_KIND = re.compile("|".join(f"({kind})" for _, kind in _KINDS))


def encode(text: str) -> bytes:
    """Return the code of every character, one byte each."""
    if text.isascii():
        return text.encode("ascii")
    codes = {ord(character): code(character) for character in set(text)}
    return text.translate(codes).encode("latin-1")


def code(character: str) -> int:
    """Return the code of one character."""
    if character.isascii():
        return ord(character)
    kind = _KIND.match(character)
    assert kind is not None
    assert kind.lastindex is not None
    return 127 + kind.lastindex
