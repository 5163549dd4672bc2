"""Counts that the workers of one machine share: a table in a file that each of them maps into its memory.

Each worker adds to a cell of its own, so that adding takes no lock. A lock is taken for the first request of a window.
"""

import fcntl
import hashlib
import mmap
import os
import threading
import weakref
from pathlib import Path
from typing import Self

FILE = "rate-limits"
_SLOTS = 16_384
_PROBES = 8
_WORD = 8
_FREE_SECONDS = 1.0
"""How long a slot stays unused after its window, so that no worker adds to it under its former key."""


class SharedCounts:
    """The table: per slot a key, the end of its window in seconds since 1970, and a cell for each worker.

    A key that finds no slot is counted by each worker alone.
    """

    def __init__(self, path: Path, worker: int, workers: int) -> None:
        """Map the file that `create` made for as many workers. Raises OSError, ValueError."""
        self._file = os.open(path, os.O_RDWR)
        weakref.finalize(self, os.close, self._file)
        table = memoryview(mmap.mmap(self._file, _bytes(workers)))
        self._keys = table[: _SLOTS * _WORD].cast("Q")
        self._ends = table[_SLOTS * _WORD : 2 * _SLOTS * _WORD].cast("d")
        self._cells = table[2 * _SLOTS * _WORD :].cast("q")
        self._worker, self._workers = worker, workers
        self._lock = threading.Lock()

    @classmethod
    def create(cls, folder: Path, workers: int) -> None:
        """Create the file in the data directory, before the workers start. Raises OSError."""
        with (folder / FILE).open("wb") as file:
            file.write(bytes(_bytes(workers)))  # not a hole: writing to a mapped hole of a full disk is fatal

    @classmethod
    def opened(cls, folder: Path, worker: int, workers: int) -> Self | None:
        """Return the table of these workers, None if there is none."""
        try:
            return cls(folder / FILE, worker, workers)
        except (OSError, ValueError):
            return None

    def find(self, key: str, now: float) -> int | None:
        """Return the slot of a key with a current window, or None."""
        return self._find(_hash(key), now)

    def open(self, key: str, now: float, ends_at: float) -> int | None:
        """Return the slot of a key, with a new window if there is none. None if there is no space for it."""
        name = _hash(key)
        with self._lock:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                slot = self._find(name, now)
                return self._take(name, now, ends_at) if slot is None else slot
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def _find(self, name: int, now: float) -> int | None:
        return next((slot for slot in _slots(name) if self._keys[slot] == name and self._ends[slot] > now), None)

    def _take(self, name: int, now: float, ends_at: float) -> int | None:
        for slot in _slots(name):
            if self._ends[slot] + _FREE_SECONDS <= now or (self._keys[slot] == name and self._ends[slot] <= now):
                first = slot * self._workers
                for cell in range(first, first + self._workers):
                    self._cells[cell] = 0
                self._keys[slot], self._ends[slot] = name, ends_at
                return slot
        return None

    def add(self, slot: int, number: int) -> int:
        """Add to this worker's cell, and return the sum of all."""
        first = slot * self._workers
        self._cells[first + self._worker] += number
        return sum(self._cells[first : first + self._workers])

    def ends_at(self, slot: int) -> float:
        """Return when the window of a slot ends."""
        return self._ends[slot]


def _bytes(workers: int) -> int:
    return _SLOTS * _WORD * (2 + workers)


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=_WORD).digest())


def _slots(name: int) -> list[int]:
    return [(name + probe) % _SLOTS for probe in range(_PROBES)]
