"""Removes what dead processes have left of uploads: packages that no job needs, and unfinished files."""

import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from registry.db import Database
from registry.publish.jobs import needed_packages
from registry.publish.spool import UNPACKED_PREFIX, Spool
from registry.runtime.atomic_files import TEMPORARY_PREFIX

EVERY_SECONDS = 600.0
"""The time from one removal to the next."""

ABANDONED_SECONDS = 24 * 60 * 60.0
"""An upload that has not grown for so long is one whose process died: requests and scans end much sooner."""


class Leftovers:
    """Removes leftovers when the first round of a process begins, every ten minutes, and after a failed round.

    The start of a process is not enough: a replica that died just after the end of a job has left its package, and may
    never start again. `clock` returns seconds.
    """

    def __init__(self, database: Database, spool: Spool, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._spool = spool
        self._clock = clock
        self._due = clock()

    def expect(self) -> None:
        """Remove leftovers at the next call, whenever that is: a failure may have left some."""
        self._due = self._clock()

    def remove_due(self) -> None:
        """Remove leftovers if it is time. Raises DatabaseError, OSError."""
        if self._clock() < self._due:
            return
        with self._database.write() as transaction:
            self._spool.remove_orphans(transaction, needed_packages(transaction))
        remove_unfinished(self._spool.folder, ABANDONED_SECONDS)
        self._due = self._clock() + EVERY_SECONDS


def unfinished(folder: Path, idle_seconds: float) -> list[Path]:
    """Return the uploads and unpacked packages in a folder that have not changed for so long."""
    left = [*folder.glob(f"{TEMPORARY_PREFIX}*"), *folder.glob(f"{UNPACKED_PREFIX}*")]
    return sorted(path for path in left if _is_idle(path, idle_seconds))


def _is_idle(path: Path, seconds: float) -> bool:
    try:
        return path.stat().st_mtime <= time.time() - seconds
    except FileNotFoundError:
        return False


def remove_unfinished(folder: Path, idle_seconds: float) -> None:
    """Remove uploads and unpacked packages that a crash has left.

    They have not changed for so long: ABANDONED_SECONDS, or any time before the first upload.
    """
    for left in unfinished(folder, idle_seconds):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)
