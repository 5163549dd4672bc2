"""Pushes changes of the catalog to the git repository of the index, with retries while the remote is unavailable."""

import logging
import time
from collections.abc import Callable

from registry.db import Database, DatabaseError, read_fact
from registry.outbound.git_run import GitError
from registry.publish.git_index import GitIndex
from registry.publish.index_log import IndexLog
from registry.runtime.metrics import Metrics
from registry.runtime.periodic_worker import STOP_SECONDS, PeriodicWorker
from registry.transparency.fork import LogForked

_log = logging.getLogger("registry.publish")

_POLL_SECONDS = 1.0
_CHECK_SECONDS = 300.0
_SHORTEST_REST_SECONDS = 0.05  # every change of a skill wakes the thread, and few of them change an index file
_LONGEST_REST_SECONDS = 3.0
INDEX_HEAD = "index_head"
"""The fact with the commit of the last push."""

Lines = Callable[[str], bytes]


class IndexPusher:
    """Pushes the changed index files in a thread. Only one process of a catalog runs it.

    Args:
        database: Stores which files have changed, and the last pushed commit.
        index: The clone.
        lines: Returns the index file of a skill.
        index_log: The log in the index.
        metrics: Records each push.
    """

    def __init__(
        self, database: Database, index: GitIndex, lines: Lines, index_log: IndexLog, metrics: Metrics
    ) -> None:
        self._database = database
        self._index = index
        self._lines = lines
        self._index_log = index_log
        self._metrics = metrics
        self._thread = PeriodicWorker("index", self._round, _log, (GitError, OSError, DatabaseError, LogForked))
        self._check_at = 0.0

    def start(self) -> None:
        """Start to push, beginning with pending files. The remote may be unavailable."""
        self._check_at = 0.0
        self._index_log.forget()  # another process may have pushed since this one did
        self._thread.start()

    def wake(self) -> None:
        """Push soon: a file has changed."""
        self._thread.wake()

    def poll(self) -> None:
        """Push soon, unless the remote fails: another process may have changed a file."""
        if self._thread.health.problem is None:
            self._thread.wake()

    def stop(self) -> None:
        """Stop after the current round, or after a time limit."""
        self._thread.stop(STOP_SECONDS)

    def is_pushed(self, skill_id: str, revision: int) -> bool:
        """Return whether a revision of the index file of a skill is pushed."""
        sql = "select pushed >= ? from index_files where skill_id = ?"
        rows = self._database.read(sql, (revision, skill_id))
        return bool(rows and rows[0][0])

    def _round(self) -> float:
        if time.monotonic() >= self._check_at:
            self.check()
            self._check_at = time.monotonic() + _CHECK_SECONDS
        started = time.monotonic()
        self.push()
        # At most a quarter of the time: a push costs as much as a search, and pending files are pushed together.
        rest = max(_SHORTEST_REST_SECONDS, 3 * (time.monotonic() - started))
        self._thread.pause(min(rest, _LONGEST_REST_SECONDS))
        return _POLL_SECONDS

    def push(self) -> None:
        """Push the files and the entries of the log that are new since the last push.

        Raises GitError, OSError, LogForked.
        """
        rows = self._database.read("select skill_id, wanted from index_files where pushed < wanted")
        revisions: dict[str, int] = dict(rows)
        if not revisions and not self._index_log.is_behind():
            return
        with self._database.claim("index push") as is_claimed:  # the previous leader may not have finished
            if is_claimed:
                self._push(revisions)

    def _push(self, revisions: dict[str, int]) -> None:
        before = self._pushed_head()
        files = {skill_id: (f"Update {skill_id}", self._lines(skill_id)) for skill_id in revisions}
        with self._metrics.index_push(len(files)):
            head = self._index.write(files, self._index_log)
        self._index_log.pushed()
        with self._database.write() as transaction:
            transaction.execute_many(
                "update index_files set pushed = ? where skill_id = ?",
                [(revision, skill_id) for skill_id, revision in revisions.items()],
            )
            transaction.put_fact(INDEX_HEAD, head)
        self._restore_if_lost(before)

    def check(self) -> None:
        """Check that the remote branch contains the last push, else push all files again.

        Raises GitError, OSError, LogForked if the log contradicts its checkpoint there.
        """
        self._index.read()
        self.check_clone()
        self._restore_if_lost(self._pushed_head())

    def check_clone(self) -> None:
        """Compare the log with its checkpoint in the clone. Raises LogForked, OSError."""
        self._index_log.check(self._index.file)

    def _pushed_head(self) -> str | None:
        return read_fact(self._database, INDEX_HEAD)

    def _restore_if_lost(self, commit: str | None) -> None:
        if commit is None or self._index.contains(commit):
            return
        _log.error(
            "the registry index was rolled back: its branch does not contain %s; all files are pushed again", commit
        )
        with self._database.write() as transaction:
            transaction.execute("update index_files set wanted = wanted + 1")
            if read_fact(transaction, INDEX_HEAD) == commit:
                transaction.delete_fact(INDEX_HEAD)
        self._index_log.forget()
        self._thread.wake()
