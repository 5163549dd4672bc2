"""How many bytes the mirrors of a service keep, the most that they may, and why nothing more can be kept."""

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_log = logging.getLogger("registry.mirrors")

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

    @contextmanager
    def taking(self, count: int) -> Iterator[None]:
        """Count the bytes that the block keeps, unless it fails. Raises MirrorsFull."""
        self._take(count)
        try:
            yield
        except BaseException:
            with self._lock:
                self._used = max(0, self._used - count)
            raise

    def _take(self, count: int) -> None:
        with self._lock:
            if time.monotonic() - self._measured >= _MEASURED_SECONDS:
                self._used, self._measured = _bytes_below(self._folder), time.monotonic()
            if self._used + count > self._most_bytes:
                raise MirrorsFull(
                    f"{count:,} more bytes do not fit: the mirrors keep {self._used:,} of {self._most_bytes:,} bytes "
                    "(limits.mirror_bytes)"
                )
            self._used += count


class Keeping:
    """Keeps files of one mirror in the common space.

    Attributes:
        problem: Why the last file could not be kept, None if it could.
    """

    def __init__(self, name: str, space: Space) -> None:
        self._name = name
        self._space = space
        self.problem: str | None = None

    @contextmanager
    def room(self, count: int) -> Iterator[None]:
        """Note whether the block can keep so many bytes. Raises MirrorsFull, and what the block raises."""
        try:
            with self._space.taking(count):
                yield
        except (MirrorsFull, OSError) as error:
            reason = reason_of(error)
            if reason != self.problem:
                _log.info("mirror %s: %s", self._name, reason)  # the source has the error
            self.problem = reason
            raise
        self.problem = None


def reason_of(error: Exception) -> str:
    """Return what is wrong, without a path of this machine."""
    return f"what it keeps cannot be used: {error.strerror}" if isinstance(error, OSError) else str(error)


def _bytes_below(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(f"{parent}/{name}").st_size
            except FileNotFoundError:  # another process has removed it
                continue
    return total
