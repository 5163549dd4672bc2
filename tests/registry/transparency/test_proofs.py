"""Offline proofs that locked skills are in the log, and every way in which a log, a file or a signer may lie."""

import base64
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from registry.database.sqlite import SqliteDatabase
from registry.domain.models import now
from registry.domain.origins import ZipOrigin
from registry.project.lock_file import LockedSkill
from registry.project.proofs import Locked, Proofs, ProofsError, check_proofs, make_proofs
from registry.transparency.checkpoint import CheckpointInvalid, Signer, Verifier
from registry.transparency.log import LogEntry, TransparencyLog

URL = "https://registry.example.org"


class LoggingRegistry:
    """The log of a registry; `folder` holds its database."""

    def __init__(self, folder: Path, key: Path) -> None:
        folder.mkdir()
        self.database = SqliteDatabase(folder / "log.db")
        self.log = TransparencyLog(self.database, now)
        self.signer = Signer(key, "registry.example.org")
        self.verifier = Verifier(self.signer.verifier_key)

    def publish(self, *numbers: int) -> None:
        with self.database.write() as transaction:
            for number in numbers:
                self.log.append(transaction, LogEntry(kind="publish", **fields(number)))

    def note(self, size: int | None = None) -> str:
        size = self.log.size() if size is None else size
        return self.signer.sign(size, self.log.root(size))

    def proofs(self, locked: list[LockedSkill], *notes: str) -> Proofs:
        entries = self.log.entries(0, 1000)
        return make_proofs(URL, self.note(), entries, self.verifier, [Locked.of(skill) for skill in locked], notes)


def fields(number: int) -> dict[str, str]:
    return {"skill_id": f"acme/skill-{number}", "version": "1.0.0", "digest": f"sha256:{number:064x}"}


def locked(number: int, **changes: str) -> LockedSkill:
    url = f"{URL}/packages/acme/skill-{number}/1.0.0.zip"
    values = {"id": f"skill-{number}", "version": "1.0.0", "sha256": f"{number:064x}", **changes}
    return LockedSkill(path=f"skill-{number}", origin=ZipOrigin(url=url), **values)


@pytest.fixture
def registry(tmp_path: Path) -> LoggingRegistry:
    logging_registry = LoggingRegistry(tmp_path / "registry", tmp_path)
    logging_registry.publish(*range(7))
    return logging_registry


@pytest.fixture
def other(tmp_path: Path) -> LoggingRegistry:
    """Another log with the same key, as of a registry that shows two histories."""
    logging_registry = LoggingRegistry(tmp_path / "other", tmp_path)
    logging_registry.publish(99, *range(1, 12))
    return logging_registry


def test_published_skills_are_proven_and_later_states_extend_earlier_ones(registry: LoggingRegistry) -> None:
    skills = [locked(2), locked(6)]
    first = registry.proofs(skills)
    assert check_proofs(first, registry.verifier, skills, [registry.note()]) == []
    registry.publish(*range(7, 20))
    later = registry.proofs(skills, first.checkpoint)
    assert [skill.id for skill in later.skills] == ["skill-2", "skill-6"]
    assert check_proofs(later, registry.verifier, skills, [first.checkpoint, later.checkpoint]) == []


def test_only_a_skill_from_the_registry_needs_a_proof(registry: LoggingRegistry) -> None:
    elsewhere = msgspec.structs.replace(locked(50), origin=ZipOrigin(url="https://elsewhere.example.org/a.zip"))
    proofs = registry.proofs([locked(2), elsewhere])
    assert check_proofs(proofs, registry.verifier, [locked(2), elsewhere], []) == []
    (fault,) = check_proofs(proofs, registry.verifier, [locked(2), locked(50)], [])
    assert "skill-50: there is no proof" in fault


@pytest.mark.parametrize("change", [{"sha256": "f" * 64}, {"version": "1.0.1"}])
def test_other_files_or_another_version_are_reported(registry: LoggingRegistry, change: dict[str, str]) -> None:
    proofs = registry.proofs([locked(2)])
    (fault,) = check_proofs(proofs, registry.verifier, [locked(2, **change)], [])
    assert "skill-2: its entry has other files" in fault


def altered_entry(proofs: Proofs) -> None:
    proofs.skills[0].entry = proofs.skills[0].entry.replace("1.0.0", "1.0.1")


def moved_entry(proofs: Proofs) -> None:
    proofs.skills[0].number += 1


def cut_proof(proofs: Proofs) -> None:
    proofs.skills[0].proof.pop()


def no_base64(proofs: Proofs) -> None:
    proofs.skills[0].proof[0] = "é"


@pytest.mark.parametrize("tamper", [altered_entry, moved_entry, cut_proof, no_base64])
def test_an_entry_that_is_not_in_the_log_is_reported(
    registry: LoggingRegistry, tamper: Callable[[Proofs], None]
) -> None:
    proofs = registry.proofs([locked(2)])
    tamper(proofs)
    (fault,) = check_proofs(proofs, registry.verifier, [locked(2)], [])
    assert "skill-2: its entry is not in the signed log" in fault


def test_a_forged_checkpoint_is_reported(registry: LoggingRegistry, tmp_path: Path) -> None:
    proofs = registry.proofs([locked(2)])
    forger = Signer(tmp_path / "forger", "registry.example.org")
    forged = msgspec.structs.replace(proofs, checkpoint=forger.sign(7, registry.log.root(7)))
    assert check_proofs(forged, registry.verifier, [locked(2)], []) == ["the checkpoint is not signed with this key"]
    larger = msgspec.structs.replace(proofs, checkpoint=proofs.checkpoint.replace("\n7\n", "\n8\n"))
    assert check_proofs(larger, registry.verifier, [locked(2)], []) == ["the checkpoint is not signed with this key"]


def test_a_rolled_back_log_is_reported(registry: LoggingRegistry) -> None:
    old = registry.proofs([locked(2)])
    registry.publish(7)
    (fault,) = check_proofs(old, registry.verifier, [locked(2)], [registry.note()])
    assert "a later state of 8 entries was seen" in fault
    with pytest.raises(ProofsError, match="it was rolled back"):
        make_proofs(URL, registry.note(7), registry.log.entries(0, 10), registry.verifier, [], [registry.note(8)])


def test_two_histories_are_reported(registry: LoggingRegistry, other: LoggingRegistry) -> None:
    proofs = registry.proofs([locked(2)])
    (fault,) = check_proofs(proofs, registry.verifier, [locked(2)], [other.note(7)])
    assert "there are two logs" in fault
    with pytest.raises(ProofsError, match="differ from those seen before"):
        other.proofs([locked(2)], proofs.checkpoint)
    forged = msgspec.structs.replace(other.proofs([locked(2)]), earlier=registry.proofs([], registry.note(5)).earlier)
    assert "extends its state of 5 entries" in check_proofs(forged, registry.verifier, [locked(2)], [])[0]


def test_entries_that_do_not_match_the_checkpoint_are_refused(registry: LoggingRegistry) -> None:
    entries = registry.log.entries(0, 10)
    for wrong in (entries[:-1], [*entries[:-1], "{}"], [entries[1], entries[0], *entries[2:]]):
        with pytest.raises(ProofsError, match="do not match its signed checkpoint"):
            make_proofs(URL, registry.note(), wrong, registry.verifier, [], [])


def test_another_log_with_the_same_key_is_refused(registry: LoggingRegistry, tmp_path: Path) -> None:
    body = "elsewhere.example.org\n7\n" + base64.b64encode(registry.log.root(7)).decode() + "\n"
    signed = base64.b64encode(registry.signer._hash + registry.signer._key.sign(body.encode())).decode()
    note = f"{body}\n\u2014 registry.example.org {signed}\n"
    with pytest.raises(CheckpointInvalid, match="another log"):
        make_proofs(URL, note, registry.log.entries(0, 10), registry.verifier, [], [])
