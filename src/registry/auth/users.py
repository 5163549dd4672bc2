"""Users with a name and a password. The database holds Argon2id hashes of passwords (RFC 9106)."""

import datetime
import secrets
import threading
from collections.abc import Callable
from typing import Annotated, NamedTuple

import msgspec
from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from msgspec import UNSET, Meta, UnsetType

from registry.auth.revocations import Revocations
from registry.db import Database, Row, Transaction
from registry.domain.models import timestamp
from registry.domain.roles import Role, Segment, Username, scope_of
from registry.errors import conflict, not_found

Password = Annotated[
    str,
    Meta(min_length=8, max_length=1024, extra={"rule": "must be 8 to 1,024 characters"}),
]

_CONCURRENT_HASHES = 2
_COLUMNS = "name, role, scope, issuer, created_at, updated_at"

_NO_PASSWORD = ""
"""The hash of a user who signs in at an issuer: no password has it."""


class User(msgspec.Struct, kw_only=True):
    """A user without the password and its hash. `issuer` is missing for a user with a password."""

    name: str
    role: Role
    scope: str
    issuer: str | UnsetType = UNSET
    created_at: str
    updated_at: str


class NewUser(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that adds a user. Without a scope, the scope of the name applies."""

    name: Username
    password: Password
    role: Role = "user"
    scope: Segment | None = None


class UserChanges(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that changes a user. Fields that are not sent stay as they are."""

    password: Password | None = None
    role: Role | None = None
    scope: Segment | None = None


class Person(NamedTuple):
    """A person who has signed in at an issuer, and the user of that person here.

    `subject` is the id at the issuer, which another person never gets. Another person may get the name.
    """

    issuer: str
    subject: str
    name: str
    role: Role
    scope: str


def has_users(database: Database) -> bool:
    """Return whether there is a user."""
    return bool(database.read("select 1 from users limit 1"))


def has_user(database: Database, name: str) -> bool:
    """Return whether there is a user of this name, with a password or signed in at an issuer."""
    return bool(database.read("select 1 from users where name = ?", (name,)))


class Users:
    """Adds, checks and removes users. A change of a user revokes the tokens issued to that name before.

    A user who changes the own password keeps the tokens that the user has made: programs use them.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime.datetime], revocations: Revocations) -> None:
        self._database = database
        self._clock = clock
        self._revocations = revocations
        # 19 MiB, two passes, one lane: the minimum of OWASP's password storage cheat sheet for Argon2id.
        self._hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
        self._hashing = threading.Semaphore(_CONCURRENT_HASHES)
        self._dummy_hash = self._hash(secrets.token_hex(16))

    def _hash(self, password: str) -> str:
        with self._hashing:
            return self._hasher.hash(password)

    def check(self, name: str, password: str) -> User | None:
        """Return the user, or None for a wrong name or password. Both take the same time."""
        sql = f"select password_hash, {_COLUMNS} from users where name = ? and password_hash <> ?"
        rows = self._database.read(sql, (name, _NO_PASSWORD))
        try:
            with self._hashing:
                self._hasher.verify(rows[0][0] if rows else self._dummy_hash, password)
        except (Argon2Error, InvalidHashError, UnicodeError):
            return None
        return _user(rows[0][1:]) if rows else None

    def add(self, new: NewUser) -> User:
        """Add a user. Raises CONFLICT where the name is taken."""
        at, hashed = timestamp(self._clock()), self._hash(new.password)
        user = User(name=new.name, role=new.role, scope=new.scope or scope_of(new.name), created_at=at, updated_at=at)
        with self._database.write() as transaction:
            if transaction.read("select 1 from users where name = ?", (new.name,)):
                raise conflict(f"User '{new.name}' already exists")
            transaction.execute(
                "insert into users (name, role, scope, password_hash, created_at, updated_at)"
                " values (?, ?, ?, ?, ?, ?)",
                (user.name, user.role, user.scope, hashed, at, at),
            )
            self._end_tokens(transaction, user.name)
            transaction.touched.append(_rights(user))
        self._revocations.bump()
        return user

    def change(self, name: str, changes: UserChanges) -> User:
        """Change a user. Raises NOT_FOUND, CONFLICT for a password of a user who signs in at an issuer."""
        hashed = self._hash(changes.password) if changes.password else None
        with self._database.write(urgent=True) as transaction:
            if hashed and transaction.read("select 1 from users where name = ? and issuer is not null", (name,)):
                raise conflict(f"User '{name}' signs in at an issuer, and has no password")
            sql = (
                "update users set role = coalesce(?, role), scope = coalesce(?, scope),"
                " password_hash = coalesce(?, password_hash), updated_at = ? where name = ?"
                f" returning {_COLUMNS}"
            )
            values = (changes.role, changes.scope, hashed, timestamp(self._clock()), name)
            rows = transaction.read(sql, values)
            if not rows:
                raise not_found(f"User '{name}'")
            self._end_tokens(transaction, name)
            user = _user(rows[0])
            transaction.touched.append(f"{_rights(user)}{', new password' if hashed else ''}")
        self._revocations.bump()
        return user

    def change_password(self, name: str, password: str) -> int:
        """Change the password of a user who asks for it, and revoke the tokens of sign-ins.

        Return the second since 1970 from which the tokens of later sign-ins are issued. Raises NOT_FOUND.
        """
        hashed, at = self._hash(password), timestamp(self._clock())
        with self._database.write(urgent=True) as transaction:
            sql = "update users set password_hash = ?, updated_at = ? where name = ?"
            if not transaction.execute(sql, (hashed, at, name)):
                raise not_found(f"User '{name}'")
            until = self._revocations.revoke_all(transaction, name)
        self._revocations.bump()
        return until + 1

    def signed_in(self, person: Person) -> int:
        """Add or change the user of a person who has signed in at an issuer.

        Another name, role or scope than before ends the tokens of before. Return the second since 1970 from which the
        tokens of this sign-in are issued. Raises CONFLICT where the name belongs to another user.
        """
        at = timestamp(self._clock())
        with self._database.write(urgent=True) as transaction:
            rows = transaction.read(
                f"select {_COLUMNS} from users where issuer = ? and subject = ?", (person.issuer, person.subject)
            )
            before = _user(rows[0]) if rows else None
            if before and (before.name, before.role, before.scope) == (person.name, person.role, person.scope):
                return self._revocations.earliest_issue(person.name)
            if before:
                self._delete(transaction, before.name)
            if transaction.read("select 1 from users where name = ?", (person.name,)):
                raise conflict(f"The user name '{person.name}' belongs to another user: ask an administrator")
            transaction.execute(
                "insert into users (name, role, scope, password_hash, created_at, updated_at, issuer, subject)"
                " values (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(person.name, person.role, person.scope, _NO_PASSWORD, before.created_at if before else at, at),
                    *(person.issuer, person.subject),
                ),
            )
            until = self._end_tokens(transaction, person.name)
            transaction.touched.append(f"{person.role} {person.name} of {person.issuer}")
        self._revocations.bump()
        return until + 1

    def signed_out(self, issuer: str, subject: str) -> None:
        """Remove the user of a person whom an issuer does not admit any more, if there is one."""
        with self._database.write(urgent=True) as transaction:
            rows = transaction.read("select name from users where issuer = ? and subject = ?", (issuer, subject))
            for (name,) in rows:
                self._delete(transaction, name)
        self._revocations.bump()

    def _end_tokens(self, transaction: Transaction, name: str) -> int:
        """Revoke the tokens of sign-ins, and those that the user has made. Call `bump` after the commit.

        Return the last second since 1970 whose tokens are revoked.
        """
        transaction.execute("delete from user_tokens where owner = ?", (name,))
        return self._revocations.revoke_all(transaction, name)

    def _delete(self, transaction: Transaction, name: str) -> bool:
        """Delete a user and end its tokens. Return whether there was one. Call `bump` after the commit."""
        if not transaction.execute("delete from users where name = ?", (name,)):
            return False
        self._end_tokens(transaction, name)
        transaction.execute("delete from scope_members where user_name = ?", (name,))
        return True

    def remove(self, name: str) -> None:
        """Remove a user. Raises NOT_FOUND."""
        with self._database.write(urgent=True) as transaction:
            if not self._delete(transaction, name):
                raise not_found(f"User '{name}'")
        self._revocations.bump()

    def list(self, limit: int, offset: int) -> tuple[list[User], int]:
        """Return one page of the users, by name, and the total number of users."""
        rows = self._database.read(f"select {_COLUMNS} from users order by name limit ? offset ?", (limit, offset))
        return [_user(row) for row in rows], int(self._database.read("select count(*) from users")[0][0])


def _rights(user: User) -> str:
    """Return what the audit log says of a new or changed user, after the name."""
    return f"{user.role} of {user.scope}"


def _user(row: Row) -> User:
    name, role, scope, issuer, created_at, updated_at = row
    return User(name=name, role=role, scope=scope, issuer=issuer or UNSET, created_at=created_at, updated_at=updated_at)
