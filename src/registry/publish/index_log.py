"""The transparency log in the index: its signed checkpoint, and its entries in bundles.

Both are written in one commit, so the entries in the index are always those that the checkpoint beside them signs.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from registry.transparency.bundles import BUNDLE_ENTRIES, bundle_count, bundle_file, bundle_range, write_bundle
from registry.transparency.checkpoint import checkpoint_file
from registry.transparency.fork_guard import ForkGuard
from registry.transparency.log import TransparencyLog

ReadFile = Callable[[str], bytes]
"""Returns the bytes of a file on the remote branch of the index, empty if it is not there."""


class Attachment(Protocol):
    """Files about the index as a whole, which are written with its last commit."""

    def changed(self, read: ReadFile, *, has_commits: bool) -> Mapping[str, bytes]:
        """Return the files to write now, none if nothing has to be written. `has_commits`: other files change too.

        What it raises keeps the other files from being pushed.
        """
        ...


class IndexLog:
    """The files of the log in the index, as an attachment of each push. Only the thread that pushes uses it.

    The first comparison reads every bundle of the index, so that an index without them, or with damaged ones, is
    completed. Later ones read those that have grown.

    Args:
        name: The name of the log.
        log: The log.
        guard: Compares the checkpoint that the index has with the log.
        checkpoint: Returns the signed checkpoint of a size of the log.
    """

    def __init__(self, name: str, log: TransparencyLog, guard: ForkGuard, checkpoint: Callable[[int], str]) -> None:
        self._name = name
        self._log = log
        self._guard = guard
        self._checkpoint = checkpoint
        self._pushed = 0
        self._offered = 0

    def is_behind(self) -> bool:
        """Return whether the log has entries that the index may not have."""
        return self._log.size() != self._pushed

    def check(self, read: ReadFile) -> None:
        """Compare the log with its checkpoint in the index. Raises LogForked."""
        self._guard.check(read(checkpoint_file(self._name)), "the index repository")

    def changed(self, read: ReadFile, *, has_commits: bool) -> Mapping[str, bytes]:
        """Return the bundles that differ, and the checkpoint over them. Raises LogForked."""
        size = self._log.size()
        bundles = self._outdated(size, read)
        self._offered = size
        if not bundles and not has_commits:
            return {}
        self.check(read)
        return bundles | {checkpoint_file(self._name): self._checkpoint(size).encode()}

    def _outdated(self, size: int, read: ReadFile) -> dict[str, bytes]:
        outdated = {}
        for number in range(self._pushed // BUNDLE_ENTRIES, bundle_count(size)):
            entries, path = bundle_range(number, size), bundle_file(self._name, number)
            content = write_bundle(self._log.entries(entries.start, len(entries)))
            if read(path) != content:
                outdated[path] = content
        return outdated

    def pushed(self) -> None:
        """Note that the index has the files that `changed` returned last."""
        self._pushed = self._offered

    def forget(self) -> None:
        """Compare every bundle with the index again: it may have lost some."""
        self._pushed = 0
