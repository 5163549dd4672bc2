"""File names that are not UTF-8.

On Linux a file name may be any bytes, but JSON, SQL and HTTP carry only text. Python decodes each invalid byte to a
lone surrogate, which cannot be encoded.
"""

import os


def is_text(name: str) -> bool:
    """Return whether a name is UTF-8, so that it can be stored, sent and sent back."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable_name(name: str) -> str:
    r"""Return a file name as text; bytes that are not UTF-8 are escaped as `\xff`."""
    return name if is_text(name) else os.fsencode(name).decode("utf-8", "backslashreplace")
