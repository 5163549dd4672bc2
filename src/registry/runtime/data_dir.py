"""The lock of a data directory, which allows one server at a time.

A process that waits for it holds a second lock meanwhile, so that an idle holder knows that it is wanted.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

LOCK_FILE = "skill-registry.lock"
_WAITING_FILE = "skill-registry.waiting"

PATIENCE_SECONDS = 10.0
"""How long commands and servers wait for a command that runs, a server that starts, or an idle agent's process."""

_POLL_SECONDS = 0.05


class DataDirInUse(Exception):
    """Another server uses the data directory. `url` is the address it listens on, if known."""

    def __init__(self, folder: Path, owner: dict[str, object]) -> None:
        self.url = str(owner["url"]) if owner.get("url") else None
        address = f" at {self.url}" if self.url else ""
        super().__init__(
            f"another skill-registry (process {owner.get('pid', 'unknown')}{address}) is running on the data directory "
            f"{folder.name}: stop it, use it with --server, or choose another --data-dir"
        )


class DataDirLock:
    """Locks a data directory for this process and its workers, until release or the end of the process."""

    def __init__(self, folder: Path) -> None:
        """Take the lock. Raises DataDirInUse if another process holds it, OSError."""
        make_data_dir(folder)
        self._folder = folder
        self._file: IO[str] = (folder / LOCK_FILE).open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(self._file)
            self._file.close()
            raise DataDirInUse(folder, owner) from None
        self.announce(None)

    @classmethod
    def wait(
        cls, folder: Path, seconds: float = PATIENCE_SECONDS, on_wait: Callable[[], object] = lambda: None
    ) -> "DataDirLock":
        """Return the lock once it is free, after a call of `on_wait` if it is not free at once.

        Raises DataDirInUse after `seconds`, or at once for a server; OSError.
        """
        try:
            return cls(folder)
        except DataDirInUse as running:
            if running.url is not None:
                raise
        deadline = time.monotonic() + seconds
        on_wait()
        with _waiting(folder):
            while True:
                try:
                    return cls(folder)
                except DataDirInUse as running:
                    if running.url is not None or time.monotonic() > deadline:
                        raise
                time.sleep(_POLL_SECONDS)

    def is_wanted(self) -> bool:
        """Return whether another process waits for the lock. Raises OSError."""
        try:
            file = (self._folder / _WAITING_FILE).open()
        except FileNotFoundError:
            return False
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def announce(self, url: str | None) -> None:
        """Write the process id and the listening address into the lock file, for other processes."""
        self._file.seek(0)
        self._file.truncate()
        json.dump({"pid": os.getpid(), "url": url}, self._file)
        self._file.flush()

    def release(self) -> None:
        """Release the lock."""
        self._file.close()


def make_data_dir(folder: Path) -> None:
    """Create a data directory, if it is missing, which git ignores: it has keys, and what search has learned."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    ignored = folder / ".gitignore"
    ignored.touch(mode=0o600)
    ignored.write_text("*\n", encoding="ascii")


@contextmanager
def _waiting(folder: Path) -> Iterator[None]:
    with (folder / _WAITING_FILE).open("a+") as file:
        # Shared: several may wait. Not without waiting: the holder of the data directory looks with a lock of its own.
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def running_server(folder: Path) -> str | None:
    """Return the address of the server that runs on a data directory, or None. This creates no file. Raises OSError."""
    try:
        file = (folder / LOCK_FILE).open()
    except (FileNotFoundError, NotADirectoryError):
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: several commands may ask at once
        except BlockingIOError:
            return DataDirInUse(folder, _owner(file)).url
    return None


def _owner(file: IO[str]) -> dict[str, object]:
    file.seek(0)
    try:
        owner = json.load(file)
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}
