"""Files that begin with the digest of the rest, so that a changed byte is noticed when they are read."""

import hashlib
from pathlib import Path

from registry.runtime.atomic_files import replace_file

_LINE = 65
_MOST_BYTES = 32 << 20
"""Of a file: an index file has half as much."""


class FileChanged(Exception):
    """A file has other bytes than were written; the message names it."""


def write_checked(path: Path, body: bytes) -> None:
    """Replace a file atomically, with the digest of its body before it. Raises OSError."""
    replace_file(path, _digest_line(body) + body)


def read_checked(path: Path) -> bytes | None:
    """Return the body of a file, None if there is no file. Raises FileChanged, OSError."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    body = content[_LINE:]
    if content[:_LINE] != _digest_line(body):
        raise FileChanged(f"the file {path.name} was changed")
    return body


def _digest_line(body: bytes) -> bytes:
    return f"{hashlib.sha256(body).hexdigest()}\n".encode()
