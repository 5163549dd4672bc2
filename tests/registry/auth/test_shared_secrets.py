"""Replicas share their secrets: one with other secrets does not start, and a secret can be replaced."""

from pathlib import Path

import pytest

from registry.auth.shared_secrets import OtherSecrets, check_secrets, forget_secrets
from registry.config.settings import Settings
from registry.db import Database

OURS, THEIRS = b"ours" * 8, b"theirs" * 8
KEY = "log+00000000+ours"


def start(database: Database, *secrets: bytes, key: str = KEY) -> None:
    check_secrets(database, Settings(skills_dir=Path("skills")), list(secrets), key)


def remember_key(database: Database) -> None:
    with database.write() as transaction:
        transaction.put_fact("log_key", KEY)


def test_a_replica_with_another_secret_is_told_what_to_configure(database: Database) -> None:
    start(database, OURS)
    start(database, OURS)
    with pytest.raises(OtherSecrets, match="SKILL_REGISTRY_AUTH_SECRET"):
        start(database, THEIRS)
    told = "".join(str(row) for row in database.read("select * from facts"))
    assert OURS.decode() not in told
    assert OURS.hex() not in told


def test_a_secret_can_be_replaced_while_both_are_configured(database: Database) -> None:
    start(database, OURS)
    start(database, THEIRS, OURS)
    start(database, OURS, THEIRS)
    start(database, THEIRS, OURS)
    start(database, THEIRS)
    with pytest.raises(OtherSecrets):
        start(database, OURS)


def test_a_replica_that_signs_with_another_key_does_not_start(database: Database) -> None:
    remember_key(database)
    start(database, OURS)
    with pytest.raises(OtherSecrets, match="SKILL_REGISTRY_TRANSPARENCY_KEY"):
        start(database, OURS, key="log+11111111+theirs")


def test_lost_secrets_can_be_forgotten(database: Database) -> None:
    remember_key(database)
    start(database, OURS)
    with database.write() as transaction:
        forget_secrets(transaction)
    start(database, THEIRS, key="log+11111111+theirs")
