"""The proofs in a lock file, checked offline, and every way in which a lock, a log or an index may lie."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from registry.database.sqlite import SqliteDatabase
from registry.domain.models import now
from registry.domain.origins import GitOrigin, RegistryOrigin
from registry.domain.release_proofs import PinnedProof
from registry.project.lock_file import LockedSkill, read_lock, write_lock
from registry.project.log_check import check_log
from registry.transparency.checkpoint import Signer, Verifier
from registry.transparency.log import LogEntry, TransparencyLog, canonical
from registry.transparency.release_proof import encode_hashes

URL = "https://registry.example.org"
NAMES = ["tea", "pdf", "sql"]


class Log:
    """The log of a registry that has published `NAMES`; `folder` holds its database."""

    def __init__(self, folder: Path, key: Path) -> None:
        folder.mkdir(parents=True)
        key.mkdir(exist_ok=True)
        self.database = SqliteDatabase(folder / "log.db")
        self.log = TransparencyLog(self.database, now)
        self.signer = Signer(key, "registry.example.org")

    def publish(self, *names: str, digit: str = "1") -> None:
        with self.database.write() as transaction:
            for name in names:
                self.log.append(transaction, entry(name, digit))

    def note(self) -> str:
        size = self.log.size()
        return self.signer.sign(size, self.log.root(size))

    def locked(self, number: int) -> LockedSkill:
        """Return the lock entry of the release that an entry of the log records."""
        text = self.log.entries(number, 1)[0]
        said = msgspec.json.decode(text, type=LogEntry)
        proof = PinnedProof(
            key=self.signer.verifier_key,
            checkpoint=self.note(),
            number=number,
            entry=text,
            proof=encode_hashes(self.log.inclusion(number, self.log.size())),
        )
        name = str(said.skill_id).partition("/")[2]
        return LockedSkill(
            id=name,
            version=str(said.version),
            path=name,
            origin=RegistryOrigin(url=URL, skill=str(said.skill_id)),
            sha256=str(said.digest).removeprefix("sha256:"),
            package=str(said.sha256).removeprefix("sha256:"),
            log=proof,
        )


def entry(name: str, digit: str) -> LogEntry:
    sha256, digest = f"sha256:{digit * 64}", f"sha256:{(digit + 'a') * 32}"
    return LogEntry(kind="publish", skill_id=f"acme/{name}", version="1.0.0", sha256=sha256, digest=digest)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    made = Log(tmp_path / "log", tmp_path / "key")
    made.publish(*NAMES)
    return made


def changed(locked: LockedSkill, **proof: object) -> LockedSkill:
    assert locked.log is not None
    return msgspec.structs.replace(locked, log=msgspec.structs.replace(locked.log, **proof))


def test_the_proofs_hold_after_the_lock_was_written_and_read(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "skills.lock"
    write_lock(path, [log.locked(number) for number in range(3)])
    log.publish("late")
    report = check_log(read_lock(path), None, None)
    assert (report.proven, report.faults) == (3, [])
    assert check_log(read_lock(path), Verifier(log.signer.verifier_key), None).proven == 3


def test_skills_from_elsewhere_need_no_proof(log: Log) -> None:
    git = LockedSkill(
        id="other", version="1.0.0", path="other", origin=GitOrigin(url="https://example.org/a"), sha256="0" * 64
    )
    report = check_log([git, log.locked(0)], None, None)
    assert (report.proven, report.faults) == (1, [])


LIES: dict[str, Callable[[LockedSkill], LockedSkill]] = {
    "other files": lambda locked: msgspec.structs.replace(locked, sha256="0" * 64),
    "another package": lambda locked: msgspec.structs.replace(locked, package="0" * 64),
    "another version": lambda locked: msgspec.structs.replace(locked, version="1.0.1"),
    "another skill": lambda locked: msgspec.structs.replace(locked, origin=RegistryOrigin(url=URL, skill="acme/other")),
    "another number": lambda locked: changed(locked, number=2),
    "a number out of the tree": lambda locked: changed(locked, number=99),
    "no hashes": lambda locked: changed(locked, proof=[]),
    "hashes that are not base64": lambda locked: changed(locked, proof=["?", "é"]),
    "another entry": lambda locked: changed(locked, entry=canonical(entry("tea", "2")).decode()),
    "an entry that is not JSON": lambda locked: changed(locked, entry="{"),
    "a checkpoint that nobody signed": lambda locked: changed(locked, checkpoint="registry.example.org\n3\nAAAA\n\n"),
    "a malformed key": lambda locked: changed(locked, key="registry+00+AAAA"),
    "no proof": lambda locked: msgspec.structs.replace(locked, log=None),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_a_lie_in_the_lock_is_detected_by_name(log: Log, lie: Callable[[LockedSkill], LockedSkill]) -> None:
    report = check_log([lie(log.locked(0)), log.locked(1)], None, None)
    assert report.proven == 1
    assert len(report.faults) == 1
    assert report.faults[0].startswith("tea: ")


def test_another_key_than_the_trusted_one_is_refused(log: Log, tmp_path: Path) -> None:
    other = Log(tmp_path / "other", tmp_path / "other-key")
    other.publish(*NAMES)
    report = check_log([other.locked(0)], Verifier(log.signer.verifier_key), None)
    assert (report.proven, len(report.faults)) == (0, 1)
    assert other.signer.verifier_key in report.faults[0]
    assert log.signer.verifier_key in report.faults[0]


def test_two_logs_signed_with_one_key_are_detected_with_both_states(log: Log, tmp_path: Path) -> None:
    fork = Log(tmp_path / "fork", tmp_path / "key")
    fork.publish("pdf", "tea", "sql")
    report = check_log([log.locked(0), msgspec.structs.replace(fork.locked(0), id="pdf", path="pdf")], None, None)
    assert len(report.faults) == 1
    assert report.faults[0].count("3 entries with root") == 2


def index_of(folder: Path, log: Log, *locked: LockedSkill) -> Path:
    """Write a clone of the index that lists these releases."""
    (folder / "acme").mkdir(parents=True)
    for skill in locked:
        line = {"name": f"acme/{skill.id}", "vers": skill.version, "cksum": f"sha256:{skill.package}", "yanked": False}
        (folder / "acme" / skill.id).write_bytes(msgspec.json.encode(line) + b"\n")
    (folder / "registry.example.org.checkpoint").write_text(log.note())
    return folder


def test_the_index_must_list_the_packages_and_show_the_same_log(log: Log, tmp_path: Path) -> None:
    locked = [log.locked(0), log.locked(1)]
    index = index_of(tmp_path / "index", log, *locked)
    assert check_log(locked, None, index).faults == []
    (index / "acme" / "tea").write_text("")
    (index / "acme" / "pdf").write_text("{")
    faults = check_log(locked, None, index).faults
    assert [fault.partition(":")[0] for fault in faults] == ["tea", "pdf"]


def test_an_index_with_another_log_is_detected(log: Log, tmp_path: Path) -> None:
    locked = log.locked(0)
    fork = Log(tmp_path / "fork", tmp_path / "key")
    fork.publish("tea", "other", "sql")
    index = index_of(tmp_path / "index", fork, locked)
    (fault,) = check_log([locked], None, index).faults
    assert fault.startswith("tea: there are two logs")
    assert fault.count("3 entries with root") == 2
    log.publish("late")
    (fault,) = check_log([log.locked(0)], None, index).faults
    assert "the index is older" in fault
    (index / "registry.example.org.checkpoint").unlink()
    assert "has no registry.example.org.checkpoint" in check_log([locked], None, index).faults[0]
