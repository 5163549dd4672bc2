"""Space on the disk of a SQLite database that is kept for writes that must not wait, such as a revocation."""

import contextlib
import logging
import os
from pathlib import Path

from registry.db import DatabaseFull

_log = logging.getLogger("registry.database")

RESERVED_BYTES = 8 << 20
"""Enough for the write-ahead log, which SQLite reuses at 4 MiB, and for hundreds of new pages."""

_STEP_BYTES = 1 << 20
"""Given up at a time, so that whatever else fills the disk does not get all of it."""

_PROBED_BYTES = 256 << 10
"""More than an urgent write and the checkpoint after it take."""


class DiskReserve:
    """A file that only takes space. Urgent writes give it up step by step; it grows again when there is space.

    While a part of it is given up, other writes are refused, so that they do not take what it makes room for. Where the
    file was never made, there is no reserve.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def make_room(self, *, is_full: bool = False) -> None:
        """Give up a step for an urgent write if the disk is full, or if a write has shown that it is."""
        size = self._size()
        if size and (is_full or not self._has_room(size)):
            self._truncate(max(0, size - _STEP_BYTES))
            _log.warning("the disk is full: space that is reserved for tokens and keys is used")

    def check(self) -> None:
        """Refuse a write that is not urgent while a part of the reserve is given up. Raises DatabaseFull."""
        size = self._size()
        if size is not None and size < RESERVED_BYTES and not self.fill():
            raise DatabaseFull("the disk is full, and what is left is reserved for tokens and keys: make room on it")

    def fill(self) -> bool:
        """Make the file, or make it whole again; return whether there was space for it, and as much as a step left."""
        size = self._size() or 0
        if size >= RESERVED_BYTES:
            return True
        if self._free() < RESERVED_BYTES - size + _STEP_BYTES:
            return False
        return self._grow(size, RESERVED_BYTES)

    def _has_room(self, size: int) -> bool:
        """Return whether an urgent write finds space. `size` is the size of the file."""
        if self._free() >= _STEP_BYTES:
            return True
        # The root user may write more than a file system says, so only a write can tell.
        has_room = self._grow(size, size + _PROBED_BYTES)
        self._truncate(size)
        return has_room

    def _grow(self, size: int, new_size: int) -> bool:
        """Append to the file up to a new size; return whether there was space for all of it. If not, it stays."""
        block = os.urandom(_PROBED_BYTES)  # a file system that compresses would store zeros in no space
        try:
            self._path.touch(mode=0o600)
            with self._path.open("ab") as file:
                while (missing := new_size - file.tell()) > 0:
                    file.write(block[:missing])
        except OSError:
            self._truncate(size)
            return False
        return True

    def _size(self) -> int | None:
        """Return the size of the file, None where it does not exist."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return None

    def _truncate(self, size: int) -> None:
        with contextlib.suppress(OSError):
            os.truncate(self._path, size)

    def _free(self) -> int:
        """Return the bytes that anyone can still write. What a file system sets aside for itself does not count."""
        disk = os.statvfs(self._path.parent)
        return disk.f_bavail * disk.f_frsize
