"""Files written so that a crash at any moment leaves the old content or the new one, whole; one writer at a time."""

import fcntl
import glob
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPORARY_PREFIX = ".skill-registry-"
"""How the names of our unfinished files and folders begin; nobody else's do."""

_LOCK_SECONDS = 10.0
_LOCK_POLL_SECONDS = 0.01


def temporary_path(folder: Path, kind: str = "") -> Path:
    """Return a path in `folder` that nobody uses."""
    return folder / f"{TEMPORARY_PREFIX}{kind}{secrets.token_hex(8)}"


def write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a file that must not exist yet, through to the disk."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def replace_file(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Give `path` this content, durably; a link is replaced, not followed. Raises OSError."""
    temporary = temporary_path(path.parent, f"{path.name}-")
    try:
        write_new(temporary, data, mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Make everything below a folder last: its files, the which are no links, and its folders."""
    for where, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(f"{where}/{name}", os.O_RDONLY | os.O_NOFOLLOW)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(Path(where))


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Keep other threads and processes that do the same from writing `path`, or a file beside it, during the block.

    What killed writers have left of `path` is removed. The folder itself is what is locked, so that no lock file
    lies about. Raises TimeoutError when another holds it for ten seconds, OSError.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(folder)
        for leftover in path.parent.glob(f"{glob.escape(TEMPORARY_PREFIX + path.name)}-*"):
            leftover.unlink(missing_ok=True)
        yield
    finally:
        os.close(folder)


def _lock(descriptor: int) -> None:
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError("another process is writing") from None
            time.sleep(_LOCK_POLL_SECONDS)
        else:
            return
