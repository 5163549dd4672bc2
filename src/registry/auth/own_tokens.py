"""Tokens that users make for themselves: narrowed, opaque, shown once, and valid for a year at most.

A token is `srt_`, 43 random letters and digits, and six more that are their CRC-32, so that a scanner of secrets can
tell a token from a text that looks like one. The database holds only the SHA-256. The secret is too long to guess, so a
fast hash is enough.
"""

import datetime
import hashlib
import re
import secrets
import string
import zlib
from collections.abc import Callable, Collection
from typing import Annotated

import msgspec
from msgspec import Meta

from registry.auth.keys import KeyName, RecentUses
from registry.auth.private_scopes import scopes_of_publisher
from registry.auth.revocations import Revocations
from registry.db import Database, Row
from registry.domain.models import timestamp, timestamp_of
from registry.domain.roles import (
    Credential,
    Narrowing,
    Operation,
    Principal,
    Role,
    SkillPattern,
    includes,
    lower,
    scope_of,
)
from registry.errors import FieldError, conflict, forbidden, not_found, unauthorized, validation_error

PREFIX = "srt_"
"""What the text of every token begins with."""

DEFAULT_DAYS = 90
MAX_DAYS = 366
MAX_TOKENS = 100
"""Of one user."""

_LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SECRET_LENGTH = 43  # 256 bits
_CHECK_LENGTH = 6
_TOKEN = re.compile(r"srt_[0-9A-Za-z]{49}")
_COLUMNS = "id, name, operations, skills, role, created_at, expires_at, last_used_at"

Operations = Annotated[list[Operation], Meta(min_length=1, max_length=3, extra={"rule": "must be 1 to 3"})]
SkillPatterns = Annotated[list[SkillPattern], Meta(max_length=50, extra={"rule": "must be at most 50"})]


class OwnToken(msgspec.Struct, kw_only=True):
    """A token of a user without its text. Without `skills`, it may change every skill of the user's scope."""

    id: str
    name: str
    operations: list[Operation]
    skills: list[str]
    role: Role
    created_at: str
    expires_at: str
    last_used_at: str | None


class NewOwnToken(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that makes a token. Without `expires_at`, a time in RFC 3339, it expires in 90 days."""

    name: KeyName
    operations: Operations
    skills: SkillPatterns = msgspec.field(default_factory=list)
    expires_at: str | None = None


class MadeOwnToken(OwnToken, kw_only=True):
    """A new token with its text, which is shown only once."""

    token: str


class OwnTokens:
    """Makes, checks and revokes tokens of users. A change takes effect at once in every process on the database."""

    def __init__(self, database: Database, clock: Callable[[], datetime.datetime], revocations: Revocations) -> None:
        self._database = database
        self._clock = clock
        self._revocations = revocations
        self.uses = RecentUses()

    def create(self, new: NewOwnToken, caller: Principal) -> MadeOwnToken:
        """Make a token for the user who calls.

        Raises FORBIDDEN for a caller who has not signed in as a user and for what the user may not do,
        VALIDATION_ERROR, CONFLICT for too many tokens.
        """
        owner = _signed_in(caller)
        now = self._clock()
        expires = _expiry(new.expires_at, now)
        operations = list(dict.fromkeys(new.operations))
        token_id, text = secrets.token_hex(6), _new_text()
        with self._database.write() as transaction:
            users = transaction.read("select role, scope from users where name = ?", (owner,))
            if not users:
                raise forbidden(f"'{owner}' is no user of this registry: an administrator adds users")
            role = lower(caller.role, users[0][0])
            scopes = scopes_of_publisher(transaction, owner)
            _refuse_more_than(role, users[0][1], scopes, operations, new.skills)
            transaction.execute(
                "delete from user_tokens where owner = ? and expires_at <= ?", (owner, int(now.timestamp()))
            )
            count = transaction.read("select count(*) from user_tokens where owner = ?", (owner,))[0][0]
            if count >= MAX_TOKENS:
                raise conflict(f"A user has at most {MAX_TOKENS} tokens: revoke those that nothing uses")
            token = MadeOwnToken(
                id=token_id,
                name=new.name,
                operations=operations,
                skills=new.skills,
                role=role,
                created_at=timestamp(now),
                expires_at=timestamp_of(expires),
                last_used_at=None,
                token=text,
            )
            transaction.execute(
                "insert into user_tokens (id, owner, name, operations, skills, role, secret_hash, created_at,"
                " expires_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(token_id, owner, new.name, msgspec.json.encode(operations).decode()),
                    *(msgspec.json.encode(new.skills).decode(), role, _hash(text), token.created_at, expires),
                ),
            )
            transaction.touched.append(f"{owner} token {token_id}: {', '.join([*operations, *new.skills])}")
        return token

    def check(self, text: str) -> Principal:
        """Return who has a token. Raises UNAUTHORIZED for one that is unknown, revoked or expired."""
        rows = is_own_token(text) and self._database.read(
            "select user_tokens.id, owner, operations, skills, user_tokens.role, users.role, users.scope, expires_at"
            " from user_tokens join users on users.name = user_tokens.owner where secret_hash = ?",
            (_hash(text),),
        )
        if not rows:
            raise unauthorized("The token is not valid")
        token_id, owner, operations, skills, role, present_role, scope, expires = rows[0]
        now = int(self._clock().timestamp())
        if expires <= now:
            raise unauthorized("The token has expired")
        narrowing = Narrowing(
            msgspec.json.decode(operations, type=tuple[Operation, ...]),
            msgspec.json.decode(skills, type=tuple[str, ...]),
        )
        return Principal(
            name=owner,
            role=lower(role, present_role),
            scope=scope,
            user=owner,
            token_id=token_id,
            expires_at=expires,
            credential=Credential(owner, token_id, now),
            narrowing=narrowing,
        )

    def record_use(self, token_id: str) -> None:
        """Record that a token was used now."""
        with self._database.write() as transaction:
            at = timestamp(self._clock())
            transaction.execute("update user_tokens set last_used_at = ? where id = ?", (at, token_id))

    def revoke(self, token_id: str, caller: Principal) -> None:
        """Revoke a token of the caller, or, for an administrator, of any user. Raises NOT_FOUND."""
        mine, values = "owner = ?", [token_id, caller.user or ""]
        if includes(caller.role, "admin") and caller.narrowing is None:
            mine, values = "1 = 1", [token_id]
        with self._database.write(urgent=True) as transaction:
            rows = transaction.read(f"delete from user_tokens where id = ? and {mine} returning owner", values)
            if not rows:
                raise not_found(f"Token '{token_id[:64]}'")
            transaction.touched.append(f"{rows[0][0]} token {token_id}")
            self._revocations.mark(transaction)
        self._revocations.bump()

    def list(self, owner: str | None, limit: int, offset: int) -> tuple[list[OwnToken], int]:
        """Return one page of the tokens of a user, the newest first, and their number; none without a user."""
        sql = f"select {_COLUMNS} from user_tokens where owner = ? order by created_at desc, id limit ? offset ?"
        rows = self._database.read(sql, (owner or "", limit, offset))
        total = self._database.read("select count(*) from user_tokens where owner = ?", (owner or "",))[0][0]
        return [_own_token(row) for row in rows], int(total)


def is_own_token(text: str) -> bool:
    """Return whether a text is a token with the right checksum."""
    return bool(_TOKEN.fullmatch(text)) and text[-_CHECK_LENGTH:] == _checksum(text[:-_CHECK_LENGTH])


def _new_text() -> str:
    text = PREFIX + "".join(secrets.choice(_LETTERS) for _ in range(_SECRET_LENGTH))
    return text + _checksum(text)


def _checksum(text: str) -> str:
    """Return the CRC-32 of a text in base 62, with zeros in front."""
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(_CHECK_LENGTH):
        number, digit = divmod(number, len(_LETTERS))
        digits = _LETTERS[digit] + digits
    return digits


def _signed_in(caller: Principal) -> str:
    """Return the name of a user who has signed in. Raises FORBIDDEN for an API key and a token for another user."""
    chain = caller.credential.chain() if caller.credential else []
    if (
        caller.user is None
        or caller.narrowing is not None
        or any(credential.sub != caller.user for credential in chain)
    ):
        raise forbidden("Only a user who has signed in makes tokens: sign in with a user name and a password")
    return caller.user


def _expiry(text: str | None, now: datetime.datetime) -> int:
    """Return when a token expires, in seconds since 1970. Raises VALIDATION_ERROR."""
    if text is None:
        return int((now + datetime.timedelta(days=DEFAULT_DAYS)).timestamp())
    try:
        moment = datetime.datetime.fromisoformat(text)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
        seconds = int(moment.timestamp())
    except (ValueError, OverflowError):
        fault = "must be a time in RFC 3339, such as 2026-11-25 or 2026-11-25T09:30:00Z"
        raise validation_error(FieldError("expires_at", fault)) from None
    if not now < moment <= now + datetime.timedelta(days=MAX_DAYS):
        raise validation_error(FieldError("expires_at", f"must be in the future, and at most {MAX_DAYS} days from now"))
    return seconds


def _refuse_more_than(
    role: Role, scope: str, private: Collection[str], operations: list[Operation], skills: list[str]
) -> None:
    """Refuse a token for what its user may not do. In `private` scopes the user publishes by membership.

    Raises FORBIDDEN, VALIDATION_ERROR.
    """
    is_private = bool(skills) and all(scope_of(pattern) in private for pattern in skills)
    if not includes(role, "manager") and operations != ["read"] and not is_private:
        raise forbidden(f"Publishing needs the role 'manager'; yours is '{role}': leave out all operations but 'read'")
    others = [pattern for pattern in skills if scope_of(pattern) not in {scope, *private}]
    if others and not includes(role, "admin"):
        raise validation_error(FieldError("skills", f"'{others[0]}' is outside your scope '{scope}'"))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _own_token(row: Row) -> OwnToken:
    token_id, name, operations, skills, role, created_at, expires, last_used_at = row
    return OwnToken(
        id=token_id,
        name=name,
        operations=msgspec.json.decode(operations),
        skills=msgspec.json.decode(skills),
        role=role,
        created_at=created_at,
        expires_at=timestamp_of(expires),
        last_used_at=last_used_at,
    )
