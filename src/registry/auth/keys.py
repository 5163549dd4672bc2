"""API keys for programs: `sk_<id>_<secret>`, shown once. The database holds only the SHA-256 of the secret.

The secret is 32 random bytes, too many to guess, so a fast hash is enough.
"""

import datetime
import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from registry.auth.revocations import Revocations
from registry.db import Database, Row
from registry.domain.models import timestamp
from registry.domain.roles import Role, Segment
from registry.errors import not_found

_KEY = re.compile(r"sk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_RECORD_USE_SECONDS = 60.0
_COLUMNS = "id, name, role, scope, created_at, last_used_at, revoked_at"

KeyName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=100,
        pattern=r"^[^\x00-\x1f\x7f]*$(?!\n)",
        extra={"rule": "must be one line of 1 to 100 characters"},
    ),
]


class ApiKey(msgspec.Struct, kw_only=True):
    """A key without its secret."""

    id: str
    name: str
    role: Role
    scope: str | None
    created_at: str
    last_used_at: str | None
    revoked_at: str | None


class NewKey(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The body that creates a key. Without a scope it cannot publish."""

    name: KeyName
    role: Role = "user"
    scope: Segment | None = None


class MadeKey(ApiKey, kw_only=True):
    """A new key with its text, which is shown only once."""

    key: str


def id_of(text: str) -> str:
    """Return the id of the API key with this text; other texts as they are, such as ids."""
    parts = _KEY.fullmatch(text)
    return parts[1] if parts else text


def has_keys(database: Database) -> bool:
    """Return whether there is an API key that is not revoked."""
    return bool(database.read("select 1 from api_keys where revoked_at is null limit 1"))


class RecentUses:
    """Says which uses of credentials to record: one a minute of each. Safe to use from several threads."""

    def __init__(self) -> None:
        self._recorded: dict[str, float] = {}
        self._lock = threading.Lock()

    def should_record(self, credential_id: str) -> bool:
        """Return whether a use now should be recorded. If so, it counts as recorded."""
        now = time.monotonic()
        with self._lock:
            if now - self._recorded.get(credential_id, -_RECORD_USE_SECONDS) < _RECORD_USE_SECONDS:
                return False
            self._recorded[credential_id] = now
            return True


class ApiKeys:
    """Creates, checks and revokes keys. A change takes effect at once in every process on the database."""

    def __init__(self, database: Database, clock: Callable[[], datetime.datetime], revocations: Revocations) -> None:
        self._database = database
        self._revocations = revocations
        self._clock = clock
        self.uses = RecentUses()

    def create(self, new: NewKey) -> MadeKey:
        """Create a key."""
        key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        at = timestamp(self._clock())
        with self._database.write() as transaction:
            transaction.execute(
                "insert into api_keys (id, name, role, scope, secret_hash, created_at) values (?, ?, ?, ?, ?, ?)",
                (key_id, new.name, new.role, new.scope, _hash(secret), at),
            )
            scope = f" of {new.scope}" if new.scope else ""
            transaction.touched.append(f"{subject_of(key_id)}: {new.role}{scope}")
        return MadeKey(
            id=key_id,
            name=new.name,
            role=new.role,
            scope=new.scope,
            created_at=at,
            last_used_at=None,
            revoked_at=None,
            key=f"sk_{key_id}_{secret}",
        )

    def check(self, text: str) -> ApiKey | None:
        """Return the key with this text, or None if it is unknown or revoked."""
        parts = _KEY.fullmatch(text)
        if parts is None:
            return None
        rows = self._database.read(f"select secret_hash, {_COLUMNS} from api_keys where id = ?", (parts[1],))
        secret_hash = rows[0][0] if rows else ""
        if not hmac.compare_digest(secret_hash.encode(), _hash(parts[2]).encode()) or not rows:
            return None
        key = _api_key(rows[0][1:])
        return None if key.revoked_at else key

    def record_use(self, key_id: str) -> None:
        """Record that a key was used now."""
        with self._database.write() as transaction:
            transaction.execute("update api_keys set last_used_at = ? where id = ?", (timestamp(self._clock()), key_id))

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key permanently, with the tokens issued for it. Raises NOT_FOUND."""
        with self._database.write(urgent=True) as transaction:
            rows = transaction.read(
                f"update api_keys set revoked_at = coalesce(revoked_at, ?) where id = ? returning {_COLUMNS}",
                (timestamp(self._clock()), key_id),
            )
            if not rows:
                raise not_found(f"API key '{key_id}'")
            self._revocations.revoke_all(transaction, subject_of(key_id))
        self._revocations.bump()
        return _api_key(rows[0])

    def list(self, limit: int, offset: int) -> tuple[list[ApiKey], int]:
        """Return one page of the keys, oldest first, and the total number of keys."""
        rows = self._database.read(
            f"select {_COLUMNS} from api_keys order by created_at, id limit ? offset ?", (limit, offset)
        )
        return [_api_key(row) for row in rows], int(self._database.read("select count(*) from api_keys")[0][0])


def subject_of(key_id: str) -> str:
    """Return the subject of a key in tokens and in the audit log."""
    return f"key-{key_id}"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _api_key(row: Row) -> ApiKey:
    key_id, name, role, scope, created_at, last_used_at, revoked_at = row
    return ApiKey(
        id=key_id,
        name=name,
        role=role,
        scope=scope,
        created_at=created_at,
        last_used_at=last_used_at,
        revoked_at=revoked_at,
    )
