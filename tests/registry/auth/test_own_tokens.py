"""Tokens that users make: shown once, stored as a digest, narrowed, and gone with their user."""

import datetime
import re
from pathlib import Path

import pytest

from registry.auth.own_tokens import NewOwnToken, OwnTokens, is_own_token
from registry.auth.revocations import Revocations
from registry.auth.users import NewUser, UserChanges, Users
from registry.config.types import DatabaseUrl
from registry.database import open_url
from registry.database.sqlite import SqliteDatabase, backup
from registry.db import Database
from registry.domain.models import timestamp
from registry.domain.roles import Credential, Principal
from registry.errors import RegistryError
from support.clock import WallClock

ANN = Principal("acme/ann", "manager", "acme", "acme/ann", "j", 2**40, Credential("acme/ann", "j", 1))
PASSWORD = "a good password"


class Accounts:
    """A user, `acme/ann`, and the tokens of users."""

    def __init__(self, database: Database, clock: WallClock) -> None:
        revocations = Revocations(database, clock)
        self.clock = clock
        self.users = Users(database, clock, revocations)
        self.tokens = OwnTokens(database, clock, revocations)
        self.users.add(NewUser(name="acme/ann", password=PASSWORD, role="manager"))

    def make(self, **fields: object) -> str:
        new = NewOwnToken(**{"name": "ci", "operations": ["publish"], **fields})  # type: ignore[arg-type]
        return self.tokens.create(new, ANN).token

    def is_valid(self, token: str) -> bool:
        try:
            self.tokens.check(token)
        except RegistryError as error:
            return error.code != "UNAUTHORIZED"
        return True


@pytest.fixture
def accounts(database: Database, clock: WallClock) -> Accounts:
    return Accounts(database, clock)


def test_a_token_acts_for_its_user_and_says_what_it_is_for(accounts: Accounts) -> None:
    token = accounts.make(skills=["acme/pdf-*"], operations=["publish", "publish"])
    assert re.fullmatch(r"srt_[0-9A-Za-z]{49}", token)
    caller = accounts.tokens.check(token)
    assert (caller.name, caller.user, caller.role, caller.scope) == ("acme/ann", "acme/ann", "manager", "acme")
    assert caller.account == "acme/ann"
    assert caller.narrowing is not None
    assert (caller.narrowing.operations, caller.narrowing.skills) == (("publish",), ("acme/pdf-*",))
    assert [caller.narrowing.covers(one) for one in ("acme/pdf-text", "acme/pdf", "pdf-text", "corp/pdf-x")] == [
        *(True, False, False, False)
    ]


def test_a_scanner_tells_a_token_by_its_checksum(accounts: Accounts) -> None:
    token = accounts.make()
    assert is_own_token(token)
    for changed in (token[:-1] + ("a" if token[-1] != "a" else "b"), token[:10] + "!" + token[11:], token + "\n", ""):
        assert not is_own_token(changed)
        assert not accounts.is_valid(changed)


def test_a_token_expires_by_the_clock(accounts: Accounts) -> None:
    soon = timestamp(accounts.clock() + datetime.timedelta(minutes=5))
    short, long = accounts.make(expires_at=soon), accounts.make()
    accounts.clock.forward(299)
    assert accounts.is_valid(short)
    accounts.clock.forward(1)
    assert not accounts.is_valid(short)
    accounts.clock.forward(89 * 86_400)
    assert accounts.is_valid(long)
    accounts.clock.forward(86_400)
    assert not accounts.is_valid(long)


@pytest.mark.parametrize("days", [-1, 0, 367, 40_000])
def test_the_expiry_is_within_a_year(accounts: Accounts, days: int) -> None:
    with pytest.raises(RegistryError, match="expires_at"):
        accounts.make(expires_at=timestamp(accounts.clock() + datetime.timedelta(days=days)))
    accounts.make(expires_at=timestamp(accounts.clock() + datetime.timedelta(days=366)))


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "9999-99-99", "2026-11-25T09:30:00+99:00", "0001-01-01T00:00:00+14:00"]
)
def test_what_is_no_time_is_refused(accounts: Accounts, text: str) -> None:
    with pytest.raises(RegistryError, match="expires_at"):
        accounts.make(expires_at=text)


def test_a_token_ends_with_its_user(accounts: Accounts) -> None:
    token = accounts.make()
    accounts.users.change_password("acme/ann", "another good password")
    assert accounts.is_valid(token)
    accounts.users.change("acme/ann", UserChanges(role="user"))
    assert not accounts.is_valid(token)
    accounts.users.change("acme/ann", UserChanges(role="manager"))
    second = accounts.make()
    accounts.users.remove("acme/ann")
    assert not accounts.is_valid(second)
    accounts.users.add(NewUser(name="acme/ann", password=PASSWORD, role="manager"))
    assert not accounts.is_valid(second)


def test_a_revoked_token_is_refused_at_once_by_every_process(accounts: Accounts, database_url: DatabaseUrl) -> None:
    token = accounts.make()
    other = open_url(database_url)
    elsewhere = OwnTokens(other, accounts.clock, Revocations(other, accounts.clock))
    assert elsewhere.check(token)
    accounts.tokens.revoke(accounts.tokens.list("acme/ann", 1, 0)[0][0].id, ANN)
    with pytest.raises(RegistryError):
        elsewhere.check(token)
    other.close()


@pytest.mark.parametrize(
    "caller",
    [
        Principal("key-1", "admin", "acme", None, credential=Credential("key-1")),
        Principal(
            "acme/ann", "manager", "acme", "acme/ann", "j", 1, Credential("acme/ann", "j", 1, Credential("key-1"))
        ),
        Principal("acme/bob", "manager", "acme", "acme/bob", "j", 1, Credential("acme/bob", "j", 1)),
    ],
    ids=["an API key", "a token that another user exchanged", "a user who was never added"],
)
def test_only_a_user_who_has_signed_in_makes_tokens(accounts: Accounts, caller: Principal) -> None:
    with pytest.raises(RegistryError) as refused:
        accounts.tokens.create(NewOwnToken(name="ci", operations=["read"]), caller)
    assert refused.value.code == "FORBIDDEN"


def test_no_token_comes_from_a_token(accounts: Accounts) -> None:
    caller = accounts.tokens.check(accounts.make())
    with pytest.raises(RegistryError, match="signed in"):
        accounts.tokens.create(NewOwnToken(name="ci", operations=["read"]), caller)


def test_a_token_gives_no_more_than_its_sign_in(accounts: Accounts) -> None:
    reader = Principal("acme/ann", "user", "acme", "acme/ann", "j", 1, Credential("acme/ann", "j", 1))
    with pytest.raises(RegistryError, match="role 'manager'"):
        accounts.tokens.create(NewOwnToken(name="ci", operations=["publish"]), reader)
    made = accounts.tokens.create(NewOwnToken(name="ci", operations=["read"]), reader)
    assert accounts.tokens.check(made.token).role == "user"
    with pytest.raises(RegistryError, match="outside your scope"):
        accounts.make(skills=["corp/pdf"])


def test_a_user_has_at_most_a_hundred_tokens(accounts: Accounts) -> None:
    for _ in range(100):
        accounts.make()
    with pytest.raises(RegistryError, match="at most 100"):
        accounts.make()
    accounts.clock.forward(90 * 86_400)
    accounts.make()
    assert accounts.tokens.list("acme/ann", 10, 0)[1] == 1


def test_neither_the_database_files_nor_a_backup_contain_a_token(
    sqlite: SqliteDatabase, clock: WallClock, tmp_path: Path
) -> None:
    token = Accounts(sqlite, clock).make(name="canary")
    backup(sqlite.path, tmp_path / "data" / "copy.db")
    files = b"".join(path.read_bytes() for path in (tmp_path / "data").iterdir())
    assert files.count(b"canary") >= 2
    assert token.encode() not in files
    assert token.removeprefix("srt_").encode() not in files
    assert PASSWORD.encode() not in files
