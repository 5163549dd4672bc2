"""Files that begin with the digest of the rest, so that a changed byte is noticed when they are read."""

import hashlib
from pathlib import Path

from registry.runtime.atomic_files import replace_file

_LINE = 65


class FileChanged(Exception):
    """A file has other bytes than were written; the message names it."""


def write_checked(path: Path, body: bytes) -> None:
    """Replace a file atomically, with the digest of its body before it. Raises OSError."""
    replace_file(path, _digest_line(body) + body)


def read_checked(path: Path) -> bytes | None:
    """Return the body of a file, None if there is no file. Raises FileChanged, OSError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    body = content[_LINE:]
    if content[:_LINE] != _digest_line(body):
        raise FileChanged(f"the file {path.name} was changed")
    return body


def _digest_line(body: bytes) -> bytes:
    return f"{hashlib.sha256(body).hexdigest()}\n".encode()
