"""Checkpoints that come back from outside: the log may extend them, and never contradict them."""

from pathlib import Path

import pytest

from registry.db import Database
from registry.domain.models import now
from registry.transparency.checkpoint import Signer
from registry.transparency.fork import LogForked
from registry.transparency.fork_guard import ForkGuard
from registry.transparency.log import LogEntry, TransparencyLog

NAME = "registry.example"


@pytest.fixture
def log(database: Database) -> TransparencyLog:
    return TransparencyLog(database, now)


@pytest.fixture
def guard(database: Database, log: TransparencyLog) -> ForkGuard:
    return ForkGuard(database, log)


@pytest.fixture
def signer(tmp_path: Path, log: TransparencyLog) -> Signer:
    made = Signer(tmp_path / "keys", NAME)
    log.record_key(made.verifier_key)
    return made


def add(database: Database, log: TransparencyLog, count: int) -> None:
    with database.write() as transaction:
        for number in range(count):
            log.append(transaction, LogEntry(kind="publish", skill_id=f"acme/pdf-{number}", version="1.0.0"))


def checkpoint(log: TransparencyLog, signer: Signer, size: int) -> bytes:
    return signer.sign(size, log.root(size)).encode()


def test_every_earlier_state_is_in_order(
    database: Database, log: TransparencyLog, guard: ForkGuard, signer: Signer
) -> None:
    for size in range(1, 8):
        seen = checkpoint(log, signer, size)
        guard.check(seen, "a mirror")
        add(database, log, 1)
        guard.check(seen, "a mirror")
    assert log.fork() is None


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_a_contradiction_stops_the_log(
    database: Database, log: TransparencyLog, guard: ForkGuard, signer: Signer, size: int
) -> None:
    add(database, log, 2)
    other = signer.sign(size, b"\1" * 32).encode()
    with pytest.raises(LogForked, match=f"a mirror has size {size} and root AQEB.*this database has size 3 and root"):
        guard.check(other, "a mirror")
    with pytest.raises(LogForked):  # what agrees does not heal it
        guard.check(checkpoint(log, signer, 3), "the index repository")
    with pytest.raises(LogForked):
        add(database, log, 1)
    fork = log.fork()
    assert fork is not None
    assert (log.size(), fork.source, fork.seen_size) == (3, "a mirror", size)


@pytest.mark.parametrize("note", [b"", b"\xff", b"no checkpoint", b"a\n1\nAA==\n\n", "\u2014 x y\n".encode()])
def test_what_no_key_of_the_log_has_signed_says_nothing(
    tmp_path: Path, log: TransparencyLog, guard: ForkGuard, signer: Signer, note: bytes
) -> None:
    guard.check(note, "a mirror")
    guard.check(Signer(tmp_path / "other", NAME).sign(100, b"\1" * 32).encode(), "a mirror")
    assert log.fork() is None


def test_checkpoints_of_an_earlier_key_count_until_a_new_identity(
    tmp_path: Path, log: TransparencyLog, guard: ForkGuard, signer: Signer
) -> None:
    seen = signer.sign(100, b"\1" * 32).encode()
    log.record_key(Signer(tmp_path / "second", NAME).verifier_key)
    with pytest.raises(LogForked):
        guard.check(seen, "a mirror")
    log.start_new_identity(Signer(tmp_path / "third", NAME).verifier_key)
    guard.check(seen, "a mirror")
    assert (log.fork(), log.size()) == (None, 3)


def test_a_forked_log_keeps_its_key(tmp_path: Path, log: TransparencyLog, guard: ForkGuard, signer: Signer) -> None:
    with pytest.raises(LogForked):
        guard.check(signer.sign(100, b"\1" * 32).encode(), "a mirror")
    log.record_key(Signer(tmp_path / "second", NAME).verifier_key)
    assert log.identity_keys() == [signer.verifier_key]
