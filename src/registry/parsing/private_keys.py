"""Recognises private keys in the formats of PEM, OpenSSH, OpenPGP and PuTTY."""

from functools import cache
from typing import Any

PRIVATE_KEY = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:\\[nr]|[ \t\r\n\"'+]|[A-Za-z-]{4,20}: [^\n]+\n){1,12}[A-Za-z0-9+/]{40}|"
    r"PuTTY-User-Key-File-[23]: "
)
"""The regular expression of a private key in a text, in the syntax of RE2."""


def holds_private_key(data: bytes) -> bool:
    """Return whether a file, text or binary, contains a private key."""
    if b"PRIVATE KEY" not in data and b"PuTTY-User-Key-File-" not in data:
        return False
    return _compiled().search(data) is not None


@cache
def _compiled() -> Any:
    import re2  # noqa: PLC0415 - publishing from a folder without keys does without it

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # a binary file is not UTF-8
    return re2.compile(PRIVATE_KEY.encode(), options)
