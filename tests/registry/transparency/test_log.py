"""The stored log: its roots and proofs agree with its entries, and checkpoints sign its real state."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from registry.config.types import DatabaseUrl
from registry.database import open_url
from registry.database.dialect import schema_statement
from registry.database.migrations import MIGRATIONS
from registry.database.sqlite_schema import APPLICATION_ID
from registry.db import Database
from registry.domain.models import now
from registry.domain.withdrawals import Withdrawn
from registry.runtime.private_files import PrivateFileExposed
from registry.transparency.checkpoint import KEY_FILE, CheckpointInvalid, KeyUnusable, Signer, Verifier
from registry.transparency.log import LogEntry, TransparencyLog, withdrawals_of
from registry.transparency.merkle import is_consistent, is_included, leaf_hash


@pytest.fixture
def log(database: Database) -> TransparencyLog:
    return TransparencyLog(database, now)


def publish(log: TransparencyLog, count: int) -> None:
    with log._database.write() as transaction:
        for number in range(count):
            log.append(transaction, LogEntry(kind="publish", skill_id=f"acme/pdf-{number}", version="1.0.0"))


def test_every_earlier_state_can_be_proved(log: TransparencyLog) -> None:
    roots = {0: log.root(0)}
    for size in range(1, 40):
        publish(log, 1)
        roots[size] = log.root(size)
    for number, text in enumerate(log.entries(0, 100)):
        assert is_included(leaf_hash(text.encode()), number, 39, log.inclusion(number, 39), roots[39])
    for size in range(1, 39):
        assert log.root(size) == roots[size]
        assert is_consistent(size, 39, log.consistency(size, 39), roots[size], roots[39])


def test_the_publish_entry_of_a_version_is_found(log: TransparencyLog) -> None:
    publish(log, 3)
    with log._database.write() as transaction:
        log.append(transaction, LogEntry(kind="yank", skill_id="acme/pdf-1", version="1.0.0"))
    assert log.publish_entry("acme/pdf-1", "1.0.0") == (1, log.entries(1, 1)[0])
    assert log.publish_entry("acme/pdf-1", "1.0.1") is None


BEFORE_PUBLISHED_VERSIONS = 4
"""The schema version in which entries do not name the version that they publish."""

OLD_ENTRIES = (
    '{"at":"2026-01-01T00:00:00.000Z","key":"a+b+c","kind":"key"}',
    '{"at":"2026-01-01T00:00:01.000Z","digest":"sha256:1","kind":"publish","sha256":"sha256:2",'
    '"skill_id":"acme/pdf","version":"1.10.0"}',
    '{"at":"2026-01-01T00:00:02.000Z","digest":"sha256:1","kind":"yank","sha256":"sha256:2",'
    '"skill_id":"acme/pdf","version":"1.10.0"}',
    "damaged",
)


def test_the_entries_of_an_older_log_are_found(database_url: DatabaseUrl) -> None:
    write_old_log(database_url)
    with closing(open_url(database_url)) as database:
        log = TransparencyLog(database, now)
        assert log.publish_entry("acme/pdf", "1.10.0") == (1, OLD_ENTRIES[1])
        assert log.entries(0, 10) == list(OLD_ENTRIES)
        assert database.read("select number from log_entries where publishes is not null") == [(1,)]
        assert log.withdrawals(-1, 10) == [(2, OLD_ENTRIES[2])]
        withdrawn = Withdrawn(state="yanked", at="2026-01-01T00:00:02.000Z")
        assert withdrawals_of(database, "acme/pdf") == {"acme/pdf@1.10.0": withdrawn}


def write_old_log(url: DatabaseUrl) -> None:
    """Create a database as an earlier release left it."""
    statements = [sql for migration in MIGRATIONS[:BEFORE_PUBLISHED_VERSIONS] for sql in migration]
    rows = [f"insert into log_entries values ({number}, '{text}')" for number, text in enumerate(OLD_ENTRIES)]
    if url.file:
        url.file.parent.mkdir(parents=True)
        marks = (f"application_id = {APPLICATION_ID}", f"user_version = {BEFORE_PUBLISHED_VERSIONS}")
        with closing(sqlite3.connect(url.file, isolation_level=None)) as connection:
            for sql in [*(f"pragma {mark}" for mark in marks), *statements, *rows]:
                connection.execute(sql)
        return
    schema = ("create extension vector", "create table skill_registry_schema (version bigint not null)")
    version = f"insert into skill_registry_schema values ({BEFORE_PUBLISHED_VERSIONS})"
    with psycopg.connect(url.reveal()) as server:
        for sql in [*schema, version, *map(schema_statement, statements), *rows]:
            server.execute(sql.encode())


def test_a_failed_transaction_appends_nothing(log: TransparencyLog) -> None:
    publish(log, 3)
    before = log.root(3)
    with pytest.raises(KeyError), log._database.write() as transaction:
        log.append(transaction, LogEntry(kind="yank", skill_id="acme/pdf-1", version="1.0.0"))
        raise KeyError
    assert (log.size(), log.root(3)) == (3, before)


def test_an_entry_is_canonical_json(log: TransparencyLog) -> None:
    publish(log, 1)
    (text,) = log.entries(0, 10)
    entry = json.loads(text)
    assert set(entry) == {"kind", "at", "skill_id", "version"}
    assert text == json.dumps(entry, sort_keys=True, separators=(",", ":"))


def test_a_key_is_recorded_only_when_it_changes(log: TransparencyLog) -> None:
    for key in ("a", "a", "b", "b"):
        log.record_key(key)
    assert [json.loads(text)["key"] for text in log.entries(0, 10)] == ["a", "b"]


def test_the_public_key_alone_verifies_a_checkpoint(log: TransparencyLog, tmp_path: Path) -> None:
    publish(log, 5)
    signer = Signer(tmp_path, "registry.example.org")
    note = signer.sign(5, log.root(5))
    assert Verifier(signer.verifier_key).read(note) == ("registry.example.org", 5, log.root(5))
    assert Signer(tmp_path, "registry.example.org").sign(5, log.root(5)) == note


@pytest.mark.parametrize(("old", "new"), [("\n5\n", "\n6\n"), ("registry.", "Registry."), ("\n\n", "\nmore\n\n")])
def test_a_changed_checkpoint_is_refused(log: TransparencyLog, tmp_path: Path, old: str, new: str) -> None:
    publish(log, 5)
    signer = Signer(tmp_path, "registry.example.org")
    note = signer.sign(5, log.root(5)).replace(old, new, 1)
    with pytest.raises(CheckpointInvalid):
        Verifier(signer.verifier_key).read(note)


def test_another_signer_with_the_same_name_is_refused(log: TransparencyLog, tmp_path: Path) -> None:
    signers = [Signer(tmp_path / name, "registry.example.org") for name in ("one", "other")]
    with pytest.raises(CheckpointInvalid, match="not signed"):
        Verifier(signers[0].verifier_key).read(signers[1].sign(0, log.root(0)))


@pytest.mark.parametrize("text", ["", "a", "a+b+c", "a+00000000+AQ==", "a b+00000000+" + "A" * 44])
def test_a_malformed_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(CheckpointInvalid, match="verifier key"):
        Verifier(text)


def test_a_configured_key_signs_the_same_on_every_machine(tmp_path: Path) -> None:
    signers = [Signer(tmp_path / name, "a", "5f" * 32) for name in ("one", "other")]
    assert signers[0].verifier_key == signers[1].verifier_key
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("key", ["anything", "5f" * 31])
def test_a_malformed_configured_key_is_not_shown(tmp_path: Path, key: str) -> None:
    with pytest.raises(KeyUnusable, match=r"transparency\.key is not a key") as refused:
        Signer(tmp_path, "a", key)
    assert key not in str(refused.value)


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    Signer(tmp_path, "a")
    (tmp_path / KEY_FILE).chmod(0o644)
    with pytest.raises(PrivateFileExposed, match="chmod 600"):
        Signer(tmp_path, "a")
