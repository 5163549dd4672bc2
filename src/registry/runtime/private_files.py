"""Files that only their owner can read: made once, by the first of several processes, and never seen half-written."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path


class PrivateFileExposed(Exception):
    """Others can read a file that holds a secret; the message says what to do."""


def kept(path: Path, make: Callable[[], str]) -> str:
    """Return the text of a private file, made with `make` where there is none. Raises PrivateFileExposed, OSError."""
    if not path.exists():
        _write(path, make())
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise PrivateFileExposed(f"others can read {path.name} in the data directory: chmod 600 it, or delete it")
    return path.read_text(encoding="ascii", errors="replace").strip()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A temporary file is its owner's alone (0600), and its name is nobody else's, also where process ids repeat.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.") as temporary:
        temporary.write(text.encode())
        temporary.flush()
        os.fsync(temporary.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary.name, path)
