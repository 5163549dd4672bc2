"""Keeping the git repository of the index up with the catalog: at once, or as soon as the remote is there again."""

import logging
import time
from collections.abc import Callable

from registry.db import Database, DatabaseError
from registry.outbound.git import GitError
from registry.publish.git_index import AttachedFile, GitIndex
from registry.runtime.metrics import Metrics
from registry.runtime.periodic_worker import STOP_SECONDS, PeriodicWorker

_log = logging.getLogger("registry.publish")

_LOOK_SECONDS = 1.0
_CHECK_SECONDS = 300.0
_LONGEST_DELAY_SECONDS = 60.0
_LONGEST_REST_SECONDS = 3.0
_HEAD = "index_head"

Lines = Callable[[str], bytes]


class IndexPusher:
    """Pushes the files of skills that have changed, in a thread of its own; only one process does so.

    Args:
        database: Knows which files have changed, and the commit the remote had last.
        index: The clone.
        lines: Returns the file of a skill.
        checkpoint: The file with the signed state of the log.
        metrics: Are told of each push.
    """

    def __init__(
        self, database: Database, index: GitIndex, lines: Lines, checkpoint: AttachedFile, metrics: Metrics
    ) -> None:
        self._database = database
        self._index = index
        self._lines = lines
        self._checkpoint = checkpoint
        self._metrics = metrics
        self._thread = PeriodicWorker("index", self._round)
        self._failures = 0
        self._check_at = 0.0

    def start(self) -> None:
        """Begin to push, first what was left; the remote may be away."""
        self._failures, self._check_at = 0, 0.0
        self._thread.start()

    def wake(self) -> None:
        """Say that a file has changed."""
        self._thread.wake()

    def look(self) -> None:
        """Say that another process may have changed a file; a remote that is down is not asked more often for that."""
        if not self._failures:
            self._thread.wake()

    def stop(self) -> None:
        """Stop after the round that is under way, or soon."""
        self._thread.stop(STOP_SECONDS)

    def is_pushed(self, skill_id: str, number: int) -> bool:
        """Return whether a change of a skill's file has reached the remote."""
        sql = "select pushed >= ? from index_files where skill_id = ?"
        rows = self._database.read(sql, (number, skill_id))
        return bool(rows and rows[0][0])

    def _round(self) -> float:
        try:
            if time.monotonic() >= self._check_at:
                self.check()
                self._check_at = time.monotonic() + _CHECK_SECONDS
            started = time.monotonic()
            self.push()
            self._failures = 0
            # A quarter of the time at most: pushing costs as much as searching, and what waits is pushed together.
            self._thread.pause(min(3 * (time.monotonic() - started), _LONGEST_REST_SECONDS))
        except (GitError, OSError, DatabaseError) as error:
            self._failures = min(self._failures + 1, 10)
            if not self._thread.is_stopped:
                _log.warning("the registry index is not up to date, and is tried again: %s", _reason(error))
        return min(_LOOK_SECONDS * 2.0 ** max(self._failures - 1, 0), _LONGEST_DELAY_SECONDS)

    def push(self) -> None:
        """Push what has changed since the last time. Raises GitError, OSError."""
        changed = self._database.read("select skill_id, wanted from index_files where pushed < wanted")
        wanted: dict[str, int] = dict(changed)
        if not wanted:
            return
        with self._database.claim("index push") as mine:  # who led before may not have finished
            if mine:
                self._push(wanted)

    def _push(self, wanted: dict[str, int]) -> None:
        before = self._pushed_head()
        files = {skill_id: (f"Update {skill_id}", self._lines(skill_id)) for skill_id in wanted}
        with self._metrics.index_push(len(files)):
            head = self._index.write(files, self._checkpoint)
        with self._database.write() as transaction:
            transaction.execute_many(
                "update index_files set pushed = ? where skill_id = ?",
                [(number, skill_id) for skill_id, number in wanted.items()],
            )
            transaction.put_fact(_HEAD, head)
        self._restore_if_lost(before)

    def check(self) -> None:
        """Look whether the remote still has what was pushed; what was taken back is pushed again. Raises GitError."""
        self._index.read()
        self._restore_if_lost(self._pushed_head())

    def _pushed_head(self) -> str | None:
        rows = self._database.read("select value from facts where name = ?", (_HEAD,))
        return str(rows[0][0]) if rows else None

    def _restore_if_lost(self, commit: str | None) -> None:
        if commit is None or self._index.holds(commit):
            return
        _log.error("the registry index was rolled back: its branch lacks %s; every file is pushed again", commit)
        with self._database.write() as transaction:
            transaction.execute("update index_files set wanted = wanted + 1")
            transaction.execute("delete from facts where name = ? and value = ?", (_HEAD, commit))
        self._thread.wake()


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, GitError) else type(error).__name__
