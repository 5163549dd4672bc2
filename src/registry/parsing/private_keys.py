"""Recognises private keys in the formats of PEM, OpenSSH, OpenPGP and PuTTY."""

import re

PRIVATE_KEY = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:\\[nr]|[ \t\r\n\"'+]|[A-Za-z-]{4,20}: [^\n]{1,80}\n){1,12}[A-Za-z0-9+/]{40}|"
    r"PuTTY-User-Key-File-[23]: "
)
"""The regular expression of a private key in a text."""

_HOLDS_PRIVATE_KEY = re.compile(PRIVATE_KEY)


def holds_private_key(data: bytes) -> bool:
    """Return whether a file, text or binary, contains a private key."""
    if b"PRIVATE KEY" not in data and b"PuTTY-User-Key-File-" not in data:
        return False
    return _HOLDS_PRIVATE_KEY.search(data.decode("latin-1")) is not None
