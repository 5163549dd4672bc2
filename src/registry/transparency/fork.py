"""Forks of the log: a state of it that contradicts a checkpoint which others have seen.

An older copy of the database that is put back lacks the last entries. The next entry would take the number of one that
others have seen, and the log would sign two histories with one key. After a contradiction, nothing is appended or
signed until an administrator acts.
"""

import msgspec

from registry.db import Reader, Transaction, read_fact
from registry.errors import RegistryError

_FACT = "log_fork"
_RETRY_SECONDS = 3600


class Fork(msgspec.Struct, kw_only=True):
    """A contradiction: a checkpoint that others have seen, where it was found, and this log. Roots are in base64.

    `root` is that of the first `seen_size` entries of this log, or of all if it has fewer.
    """

    source: str
    seen_size: int
    seen_root: str
    size: int
    root: str

    @property
    def message(self) -> str:
        """Both checkpoints, and what to do."""
        return (
            "The log contradicts a checkpoint that others have seen, so nothing is published, yanked or signed: "
            f"{self.source} has size {self.seen_size} and root {self.seen_root}, this database has size {self.size} "
            f"and root {self.root}. Was an older database restored? Restore the newest one, or stop the service and "
            "start a new identity with 'skill-registry admin log new-identity'"
        )


class LogForked(RegistryError):
    """The log contradicts a checkpoint that others have seen."""

    def __init__(self, fork: Fork) -> None:
        super().__init__("SERVICE_UNAVAILABLE", fork.message, headers={"Retry-After": str(_RETRY_SECONDS)})


def read_fork(reader: Reader) -> Fork | None:
    """Return the stored contradiction, None if there is none."""
    stored = read_fact(reader, _FACT)
    return None if stored is None else msgspec.json.decode(stored, type=Fork)


def refuse_if_forked(reader: Reader) -> None:
    """Raise LogForked if a contradiction is stored."""
    if (fork := read_fork(reader)) is not None:
        raise LogForked(fork)


def store_fork(transaction: Transaction, fork: Fork) -> None:
    """Store a contradiction, unless there is one already: the first is the evidence."""
    if read_fork(transaction) is None:
        transaction.put_fact(_FACT, msgspec.json.encode(fork).decode())


def forget_fork(transaction: Transaction) -> None:
    """Remove the contradiction: a new identity has none."""
    transaction.delete_fact(_FACT)
