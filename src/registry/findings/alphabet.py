"""One-byte codes for characters. Characters that the rules distinguish have different codes."""

import re

_KIND = re.compile(
    # The first three match an ASCII letter when case is ignored.
    "([\u0130\u0131])|(\u017f)|(\u212a)|(\u2019)|"
    # The invisible characters of the rules for hidden text.
    "([\u200b\u2060-\u2064])|([\u200c\u200d\ufeff])|(\u180e)|([\u3164\uffa0])|([\u202a-\u202e\u2066-\u2069])|"
    "([\ufe00-\ufe0e])|([\U000e0000-\U000e007f])|([\U000e0100-\U000e01ef])|(\U0001f3f4)|"
    r"((?=\w)[\u0370-\u03ff\u0400-\u052f])|([\u0370-\u03ff\u0400-\u052f])|(\d)|(\w)|(\s)|([^\0])"
)
"""The classes of non-ASCII characters. The first class that matches counts."""

REPRESENTATIVES = "".join(map(chr, range(128))) + (
    "\u0131\u017f\u212a\u2019\u200b\u200c\u180e\u3164\u202a"
    "\ufe00\U000e0000\U000e0100\U0001f3f4\u0430\u0375\u0663é\u00a0—"
)
"""One character per code, in order of code. Character sets are evaluated on these."""

FOLDED = bytes(range(256)).lower().translate(bytes.maketrans(b"\x80\x81\x82", b"isk"))
"""Translates a code into the code of the lower-case letter that it matches if case is ignored."""


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
