"""Claims as file locks, which the system releases when their process dies."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def hold(folder: Path, name: str) -> Iterator[bool]:
    """Hold a claim for the block and yield true, or yield false if another thread or process has it. Raises OSError."""
    folder.mkdir(exist_ok=True)
    path = folder / hashlib.sha256(name.encode()).hexdigest()
    with path.open("a") as file:
        if not _lock(file, path):
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)


def _lock(file: IO[str], path: Path) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The previous holder may have removed the opened file. Then other processes lock a new one.
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
