"""The log in the index: which bundles a push writes, and that a rebuild reads the same log from them."""

from pathlib import Path

import pytest

from registry.db import Database
from registry.domain.models import now
from registry.ops.rebuild.recorded import RebuildRefused, read_log
from registry.outbound.git_run import GitLimits
from registry.publish.git_index import GitIndex
from registry.publish.index_log import IndexLog
from registry.transparency.bundles import BUNDLE_ENTRIES, bundle_file
from registry.transparency.checkpoint import Signer, Verifier, checkpoint_file
from registry.transparency.fork_guard import ForkGuard
from registry.transparency.log import LogEntry, TransparencyLog
from support.publishing import bare_repository

NAME = "example.org/log"
CHECKPOINT = checkpoint_file(NAME)
FIRST, SECOND, THIRD = (bundle_file(NAME, number) for number in range(3))


class LogInIndex:
    """A log, and the files that pushes have written."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self.log = TransparencyLog(database, now)
        self.signer = Signer(folder, NAME)
        self.log.record_key(self.signer.verifier_key)
        self.attached = IndexLog(NAME, self.log, ForkGuard(database, self.log), self._sign)
        self.files: dict[str, bytes] = {}

    def _sign(self, size: int) -> str:
        return self.signer.sign(size, self.log.root(size))

    def grow(self, size: int) -> None:
        with self._database.write() as transaction:
            for number in range(self.log.size(), size):
                digest = f"sha256:{number:064x}"
                entry = LogEntry(kind="publish", skill_id="a/b", version=f"{number}.0.0", sha256=digest, digest=digest)
                self.log.append(transaction, entry)

    def push(self, *, has_commits: bool = True) -> set[str]:
        """Return the files that a push writes."""
        changed = self.attached.changed(lambda path: self.files.get(path, b""), has_commits=has_commits)
        self.files |= changed
        self.attached.pushed()
        return set(changed)


@pytest.fixture
def pushed(database: Database, tmp_path: Path) -> LogInIndex:
    return LogInIndex(database, tmp_path)


def test_full_bundles_are_written_once_and_the_last_one_grows(pushed: LogInIndex) -> None:
    pushed.grow(BUNDLE_ENTRIES + 10)
    assert pushed.push() == {CHECKPOINT, FIRST, SECOND}
    first = pushed.files[FIRST]
    assert (first.count(b"\n"), pushed.files[SECOND].count(b"\n")) == (BUNDLE_ENTRIES, 10)
    assert pushed.push() == {CHECKPOINT}
    assert pushed.push(has_commits=False) == set()
    assert not pushed.attached.is_behind()
    pushed.grow(2 * BUNDLE_ENTRIES)
    assert pushed.attached.is_behind()
    assert pushed.push(has_commits=False) == {CHECKPOINT, SECOND}
    pushed.grow(2 * BUNDLE_ENTRIES + 1)
    assert pushed.push() == {CHECKPOINT, THIRD}
    assert pushed.files[FIRST] == first


def test_an_index_that_lacks_bundles_is_completed_after_a_start(pushed: LogInIndex) -> None:
    pushed.grow(2 * BUNDLE_ENTRIES + 1)
    pushed.push()
    intact = dict(pushed.files)
    del pushed.files[FIRST]
    pushed.files[SECOND] = b"{}\n"
    pushed.attached.forget()
    assert pushed.push(has_commits=False) == {CHECKPOINT, FIRST, SECOND}
    assert pushed.files[FIRST] == intact[FIRST]


def test_a_push_that_failed_is_offered_again(pushed: LogInIndex) -> None:
    pushed.grow(3)
    nothing = lambda path: b""  # noqa: E731 - the index is empty
    assert FIRST in pushed.attached.changed(nothing, has_commits=False)
    assert FIRST in pushed.attached.changed(nothing, has_commits=False)


def test_the_log_of_several_bundles_is_read_back(pushed: LogInIndex, tmp_path: Path) -> None:
    size = 2 * BUNDLE_ENTRIES + 1
    pushed.grow(size)
    index = GitIndex(str(bare_repository(tmp_path / "remote")), "main", tmp_path / "clone", GitLimits(30, 1 << 30))
    index.prepare()
    index.write({}, pushed.attached)
    recorded = read_log(index, Verifier(pushed.signer.verifier_key))
    assert [text for text, _ in recorded.entries] == pushed.log.entries(0, size)
    assert recorded.checkpoint.root == pushed.log.root(size)
    other = Signer(tmp_path / "other", NAME)
    with pytest.raises(RebuildRefused, match="not signed with this key"):
        read_log(index, Verifier(other.verifier_key))
