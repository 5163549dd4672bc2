"""Names of files that are not UTF-8: on Linux a name may be any bytes, and JSON, SQL and HTTP carry only text.

Python stands half a surrogate pair in for each byte that is not UTF-8, which nothing can encode.
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
    r"""Return a name of the file system as text: a byte that is not UTF-8 is written `\xff`."""
    return name if is_text(name) else os.fsencode(name).decode("utf-8", "backslashreplace")
