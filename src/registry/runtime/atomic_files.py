"""Atomic file writes, by one writer at a time: a crash leaves the complete old content or the complete new one."""

import fcntl
import glob
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TEMPORARY_PREFIX = ".skill-registry-"
"""The prefix of the names of unfinished files and folders."""

_LOCK_SECONDS = 10.0
_LOCK_POLL_SECONDS = 0.01


def temporary_path(folder: Path, kind: str = "") -> Path:
    """Return an unused path in `folder`."""
    return folder / f"{TEMPORARY_PREFIX}{kind}{secrets.token_hex(8)}"


def write_new(path: Path, data: bytes, mode: int) -> os.stat_result:
    """Write a file that must not exist yet, sync it to disk, and return its state."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
        return os.fstat(file.fileno())


def replace_file(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Replace the content of `path` atomically and durably. A link is replaced, not followed. Raises OSError."""
    temporary = temporary_path(path.parent, f"{path.name}-")
    try:
        write_new(temporary, data, mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Sync the entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Sync everything below a folder to disk. It must not contain links. Raises OSError."""
    for parent, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(f"{parent}/{name}", os.O_RDONLY | os.O_NOFOLLOW)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(Path(parent))


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the write lock of the folder of `path` during the block, and remove temporary files of killed writers.

    The lock excludes other threads and processes. It is on the folder itself, so that it leaves no lock file behind.
    Raises TimeoutError if another writer holds it for ten seconds, OSError.
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
                raise TimeoutError("another process is writing to the same folder: try again later") from None
            time.sleep(_LOCK_POLL_SECONDS)
        else:
            return
