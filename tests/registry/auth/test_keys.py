"""API keys: shown once, stored as a hash, valid until revoked."""

import re
from pathlib import Path

import pytest

from registry.auth.keys import ApiKeys, NewKey, subject_of
from registry.auth.revocations import Revocations
from registry.auth.tokens import Tokens
from registry.config.types import DatabaseUrl
from registry.database import open_url
from registry.database.sqlite import SqliteDatabase, backup
from registry.db import Database
from registry.domain.roles import Credential
from registry.errors import RegistryError
from support.clock import WallClock


@pytest.fixture
def keys(database: Database, clock: WallClock) -> ApiKeys:
    return ApiKeys(database, clock, Revocations(database, clock))


def test_a_created_key_is_accepted_with_its_fields(keys: ApiKeys) -> None:
    made = keys.create(NewKey(name="ci", role="manager", scope="acme"))
    known = keys.check(made.key)
    assert known is not None
    assert (known.id, known.name, known.role, known.scope) == (made.id, "ci", "manager", "acme")
    assert re.fullmatch(r"sk_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", made.key)


def test_a_key_has_the_role_user_and_no_scope_by_default(keys: ApiKeys) -> None:
    made = keys.create(NewKey(name="reader"))
    assert (made.role, made.scope, made.last_used_at, made.revoked_at) == ("user", None, None, None)


def test_a_text_that_is_almost_a_key_is_refused(keys: ApiKeys) -> None:
    first, second = keys.create(NewKey(name="one")), keys.create(NewKey(name="two"))
    mixed = f"sk_{first.id}_{second.key.rpartition('_')[2]}"
    altered = first.key[:-1] + ("A" if first.key[-1] != "A" else "B")
    for text in ("", "sk_", mixed, altered, first.key + "\n", f" {first.key}", first.key.upper(), "sk_é", first.id):
        assert keys.check(text) is None


def test_a_revoked_key_is_refused_at_once_by_every_process(keys: ApiKeys, database_url: DatabaseUrl) -> None:
    made = keys.create(NewKey(name="ci"))
    other = open_url(database_url)
    elsewhere = ApiKeys(other, WallClock(), Revocations(other, WallClock()))
    assert elsewhere.check(made.key)
    revoked = keys.revoke(made.id)
    assert keys.check(made.key) is None
    assert elsewhere.check(made.key) is None
    other.close()
    assert revoked.revoked_at is not None


def test_revoking_a_key_twice_changes_nothing(keys: ApiKeys, clock: WallClock) -> None:
    made = keys.create(NewKey(name="ci"))
    first = keys.revoke(made.id).revoked_at
    clock.forward(60)
    assert keys.revoke(made.id).revoked_at == first
    with pytest.raises(RegistryError, match="nothing"):
        keys.revoke("nothing")


def test_revoking_a_key_revokes_the_tokens_issued_for_it(keys: ApiKeys, database: Database, clock: WallClock) -> None:
    made = keys.create(NewKey(name="ci", scope="acme"))
    tokens = Tokens([b"0f1e2d3c4b5a69788796a5b4c3d2e1f0"], 3600, clock)
    _, own = tokens.issue(subject_of(made.id), "user", "acme")
    _, named = tokens.issue("acme/bot", "user", "acme", credential=Credential(subject_of(made.id)))
    keys.revoke(made.id)
    assert Revocations(database, clock).is_revoked(own)
    assert Revocations(database, clock).is_revoked(named)


def test_the_use_of_a_key_is_recorded_once_a_minute(keys: ApiKeys) -> None:
    made, other = keys.create(NewKey(name="ci")), keys.create(NewKey(name="other"))
    assert [keys.uses.should_record(key.id) for key in (made, made, other)] == [
        True,
        False,
        True,
    ]
    keys.record_use(made.id)
    assert [key.last_used_at is not None for key in keys.list(10, 0)[0] if key.id == made.id] == [True]


def test_neither_the_database_files_nor_a_backup_contain_a_key(
    sqlite: SqliteDatabase, clock: WallClock, tmp_path: Path
) -> None:
    made = ApiKeys(sqlite, clock, Revocations(sqlite, clock)).create(NewKey(name="canary", role="admin"))
    backup(sqlite.path, tmp_path / "data" / "copy.db")
    files = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())
    assert files.count(b"canary") >= 2
    assert made.key.encode() not in files
    assert made.key.rpartition(f"sk_{made.id}_")[2].encode() not in files
