"""Compares checkpoints that come back from outside with the log, and stops the log if they contradict it."""

import base64
import logging

from registry.db import Database
from registry.transparency.checkpoint import CheckpointInvalid, LogCheckpoint, Verifier
from registry.transparency.fork import Fork, LogForked, refuse_if_forked, store_fork
from registry.transparency.log import TransparencyLog

_log = logging.getLogger("registry.transparency")


class ForkGuard:
    """Compares checkpoints with the log. A standby may lag behind its checkpoints, so it compares nothing."""

    def __init__(self, database: Database, log: TransparencyLog) -> None:
        self._database = database
        self._log = log

    def check(self, note: bytes, source: str) -> None:
        """Compare a checkpoint with the log. Raises LogForked, also for a contradiction found earlier.

        A text that no key of this log has signed says nothing about it, and is ignored.

        Args:
            note: The signed checkpoint.
            source: Where it was found, as the subject of a sentence.
        """
        if self._database.is_read_only:
            return
        refuse_if_forked(self._database)
        checkpoint = self._read(note)
        if checkpoint is not None:
            self._compare(checkpoint, source)

    def _read(self, note: bytes) -> LogCheckpoint | None:
        text = note.decode("utf-8", "replace")
        for key in self._log.identity_keys():
            try:
                return Verifier(key).read(text)
            except CheckpointInvalid:
                continue
        return None

    def _compare(self, seen: LogCheckpoint, source: str) -> None:
        size = self._log.size()
        root = self._log.root(min(seen.size, size))
        if seen.size <= size and root == seen.root:
            return
        fork = Fork(source=source, seen_size=seen.size, seen_root=_encoded(seen.root), size=size, root=_encoded(root))
        self._stop(fork)

    def contradicted(self, source: str, seen_size: int) -> None:
        """Stop the log, because a witness has seen `seen_size` entries that this log does not have.

        The witness does not show the root. Raises LogForked.
        """
        size = self._log.size()
        own = _encoded(self._log.root(min(seen_size, size)))
        self._stop(Fork(source=source, seen_size=seen_size, seen_root="another one", size=size, root=own))

    def _stop(self, fork: Fork) -> None:
        with self._database.write() as transaction:
            store_fork(transaction, fork)
        _log.error("%s", fork.message)
        raise LogForked(fork)


def _encoded(root: bytes) -> str:
    return base64.b64encode(root).decode()
