"""One server a data directory: the lock that says so."""

import fcntl
import json
import os
from pathlib import Path
from typing import IO

LOCK_FILE = "skill-registry.lock"


class DataDirInUse(Exception):
    """Another server runs on the data directory; `url` is where it listens, if it has said so."""

    def __init__(self, folder: Path, owner: dict[str, object]) -> None:
        self.url = str(owner["url"]) if owner.get("url") else None
        where = f" at {self.url}" if self.url else ""
        super().__init__(
            f"another skill-registry (process {owner.get('pid', 'unknown')}{where}) is running on the data directory "
            f"{folder.name}: stop it, use it with --server, or choose another --data-dir"
        )


class DataDirLock:
    """Holds a data directory for this process and the workers it starts, until it is released or the process ends."""

    def __init__(self, folder: Path) -> None:
        """Take the lock. Raises DataDirInUse where another process holds it, OSError where it cannot be made."""
        folder.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = (folder / LOCK_FILE).open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(self._file)
            self._file.close()
            raise DataDirInUse(folder, owner) from None
        self.announce(None)

    def announce(self, url: str | None) -> None:
        """Write down who holds the directory and where it listens, for others to read."""
        self._file.seek(0)
        self._file.truncate()
        json.dump({"pid": os.getpid(), "url": url}, self._file)
        self._file.flush()

    def release(self) -> None:
        """Let the directory go."""
        self._file.close()


def _owner(file: IO[str]) -> dict[str, object]:
    file.seek(0)
    try:
        owner = json.load(file)
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}
