"""Users: passwords cannot be read back, and failures reveal nothing about a user."""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from registry.auth.revocations import Revocations
from registry.auth.tokens import Claims, Tokens
from registry.auth.users import NewUser, UserChanges, Users
from registry.database.sqlite import SqliteDatabase
from registry.db import Database
from registry.domain.roles import Credential
from registry.errors import RegistryError
from support.clock import WallClock

PASSWORD = "correct horse battery staple"


@pytest.fixture
def revocations(database: Database, clock: WallClock) -> Revocations:
    return Revocations(database, clock)


@pytest.fixture
def users(database: Database, clock: WallClock, revocations: Revocations) -> Users:
    made = Users(database, clock, revocations)
    made.add(NewUser(name="acme/ada", password=PASSWORD, role="manager"))
    return made


def token_of(subject: str, clock: WallClock, actor: Credential | None = None) -> Claims:
    return Tokens([b"0f1e2d3c4b5a69788796a5b4c3d2e1f0"], 3600, clock).issue(subject, "user", credential=actor)[1]


def test_a_user_is_accepted_only_with_the_password(users: Users) -> None:
    known = users.check("acme/ada", PASSWORD)
    assert known is not None
    assert (known.name, known.role, known.scope) == ("acme/ada", "manager", "acme")
    for wrong in (PASSWORD + " ", PASSWORD.upper(), "", "\x00", "a" * 1024, "\ud800"):
        assert users.check("acme/ada", wrong) is None
    assert users.check("acme/bob", PASSWORD) is None


def test_a_name_is_taken_once(users: Users) -> None:
    def add(_: int) -> str:
        try:
            users.add(NewUser(name="eve", password=PASSWORD))
            return "added"
        except RegistryError as error:
            return error.code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(add, range(4))) == ["CONFLICT"] * 3 + ["added"]


def test_passwords_are_stored_as_argon2id_with_their_own_salt(users: Users, database: Database) -> None:
    users.add(NewUser(name="bob", password=PASSWORD))
    hashes = [row[0] for row in database.read("select password_hash from users")]
    assert all(one.startswith("$argon2id$v=19$m=19456,t=2,p=1$") for one in hashes)
    assert len(set(hashes)) == 2


def test_the_database_files_contain_no_password(sqlite: SqliteDatabase, clock: WallClock) -> None:
    users = Users(sqlite, clock, Revocations(sqlite, clock))
    users.add(NewUser(name="acme/ada", password=PASSWORD))
    users.change("acme/ada", UserChanges(password="another canary password"))
    files = b"".join(path.read_bytes() for path in sqlite.path.parent.iterdir())
    assert b"acme/ada" in files
    assert PASSWORD.encode() not in files
    assert b"another canary password" not in files


def test_an_unknown_user_takes_as_long_as_a_wrong_password(users: Users) -> None:
    def seconds(name: str) -> float:
        started = time.thread_time()  # what other processes take of the time does not count
        assert users.check(name, "a wrong password") is None
        return time.thread_time() - started

    known, unknown = zip(*((seconds("acme/ada"), seconds("nobody")) for _ in range(9)), strict=True)
    assert 0.25 < statistics.median(known) / statistics.median(unknown) < 4


def test_a_change_takes_effect_at_once_and_revokes_earlier_tokens(
    users: Users, revocations: Revocations, clock: WallClock
) -> None:
    before, elsewhere = token_of("acme/ada", clock), token_of("acme/bob", clock)
    changed = users.change("acme/ada", UserChanges(role="user", password="a better password"))
    assert (changed.role, users.check("acme/ada", PASSWORD)) == ("user", None)
    assert revocations.is_revoked(before)
    assert not revocations.is_revoked(elsewhere)


def test_tokens_issued_after_a_change_are_valid_even_in_the_same_second(
    users: Users, revocations: Revocations, clock: WallClock
) -> None:
    users.change("acme/ada", UserChanges(role="admin"))
    tokens = Tokens([b"0f1e2d3c4b5a69788796a5b4c3d2e1f0"], 3600, clock)
    token, claims = tokens.issue("acme/ada", "admin", at=revocations.earliest_issue("acme/ada"))
    assert not revocations.is_revoked(claims)
    assert tokens.read(token) == claims


def test_removing_a_user_revokes_all_tokens_issued_for_them(
    users: Users, revocations: Revocations, clock: WallClock
) -> None:
    own, other = token_of("acme/ada", clock), token_of("acme/robot", clock, actor=Credential("acme/ada"))
    users.remove("acme/ada")
    assert users.check("acme/ada", PASSWORD) is None
    assert revocations.is_revoked(own)
    assert revocations.is_revoked(other)


def test_a_user_added_again_does_not_get_the_old_tokens_back(
    users: Users, revocations: Revocations, clock: WallClock
) -> None:
    before = token_of("acme/ada", clock)
    users.remove("acme/ada")
    users.add(NewUser(name="acme/ada", password=PASSWORD))
    assert revocations.is_revoked(before)


def test_an_unknown_user_cannot_be_changed(users: Users) -> None:
    for act in (lambda: users.remove("nobody"), lambda: users.change("nobody", UserChanges(role="admin"))):
        with pytest.raises(RegistryError, match="nobody"):
            act()
    assert [user.name for user in users.list(10, 0)[0]] == ["acme/ada"]


def test_revocations_are_pruned_when_their_tokens_have_expired(
    revocations: Revocations, database: Database, clock: WallClock
) -> None:
    first = token_of("ada", clock)
    revocations.revoke(first.jti, first.exp)
    assert revocations.is_revoked(first)
    clock.forward(3601)
    second = token_of("ada", clock)
    revocations.revoke(second.jti, second.exp)
    assert database.read("select id from revoked_tokens") == [(second.jti,)]
