"""Files that only their owner can read. The first of several processes creates them, complete in one step."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path


class PrivateFileExposed(Exception):
    """Other users can read a file that holds a secret; the message says what to do."""


def load_or_create(path: Path, create: Callable[[], str]) -> str:
    """Return the text of a private file, from `create` if it is missing. Raises PrivateFileExposed, OSError."""
    if not path.exists():
        _write(path, create())
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise PrivateFileExposed(
            f"other users can read {path.name} in the data directory: run chmod 600 on it, or delete it"
        )
    return path.read_text(encoding="ascii", errors="replace").strip()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A temporary file has mode 0600 and a unique name, even where process ids repeat, as in containers.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.") as temporary:
        temporary.write(text.encode())
        temporary.flush()
        os.fsync(temporary.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary.name, path)
