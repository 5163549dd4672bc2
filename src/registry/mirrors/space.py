"""How many bytes the mirrors of a service keep, and the most that they may."""

import os
import threading
import time
from pathlib import Path

_MEASURED_SECONDS = 60.0
"""After so long the files are counted again, because other processes keep some too."""


class MirrorsFull(Exception):
    """What is to be kept does not fit; the message names the setting."""


class Space:
    """The bytes of all files below `folder`, at most `most_bytes`."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._used = 0
        self._measured = -_MEASURED_SECONDS

    def take(self, count: int) -> None:
        """Count bytes that are about to be kept. Raises MirrorsFull."""
        with self._lock:
            if time.monotonic() - self._measured >= _MEASURED_SECONDS:
                self._used, self._measured = _bytes_below(self._folder), time.monotonic()
            if self._used + count > self._most_bytes:
                raise MirrorsFull(
                    f"{count:,} more bytes do not fit: the mirrors keep {self._used:,} of {self._most_bytes:,} bytes "
                    "(limits.mirror_bytes)"
                )
            self._used += count


def _bytes_below(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(f"{parent}/{name}").st_size
            except FileNotFoundError:  # another process has removed it
                continue
    return total
